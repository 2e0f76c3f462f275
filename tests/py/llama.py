"""llama.cpp's own server (PyPI: xllamacpp) with a tiny model of random weights, made here: it speaks the protocol and talks nonsense.

    python llama.py FOLDER

Prints the address it listens on, then serves until its standard input is closed.
"""
import socket, sys
from pathlib import Path

import gguf
import numpy as np
import xllamacpp


def make(path):
    """One layer, 64 wide; a vocabulary of bytes."""
    rng = np.random.default_rng(7)
    wide, inner, heads, context = 64, 128, 4, 16384
    tokens = [b"<unk>", b"<s>", b"</s>"] + [f"<0x{i:02X}>".encode() for i in range(256)]
    types = [gguf.TokenType.UNKNOWN, gguf.TokenType.CONTROL, gguf.TokenType.CONTROL] + [gguf.TokenType.BYTE] * 256
    words = [bytes([i]) for i in range(33, 127)] + ["\u2581".encode()]
    tokens += words
    types += [gguf.TokenType.NORMAL] * len(words)
    w = gguf.GGUFWriter(path, "llama")
    w.add_context_length(context)
    w.add_embedding_length(wide)
    w.add_block_count(1)
    w.add_feed_forward_length(inner)
    w.add_head_count(heads)
    w.add_head_count_kv(heads)
    w.add_layer_norm_rms_eps(1e-5)
    w.add_rope_dimension_count(wide // heads)
    w.add_vocab_size(len(tokens))
    w.add_tokenizer_model("llama")
    w.add_token_list(tokens)
    w.add_token_scores([0.0] * len(tokens))
    w.add_token_types(types)
    w.add_bos_token_id(1)
    w.add_eos_token_id(2)
    w.add_unk_token_id(0)
    some = lambda *shape: rng.normal(0, 0.5, shape).astype(np.float32)
    ones = np.ones(wide, dtype=np.float32)
    w.add_tensor("token_embd.weight", some(len(tokens), wide))
    w.add_tensor("output_norm.weight", ones)
    w.add_tensor("output.weight", some(len(tokens), wide))
    for name in ("attn_norm", "ffn_norm"):
        w.add_tensor(f"blk.0.{name}.weight", ones)
    for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
        w.add_tensor(f"blk.0.{name}.weight", some(wide, wide))
    w.add_tensor("blk.0.ffn_gate.weight", some(inner, wide))
    w.add_tensor("blk.0.ffn_up.weight", some(inner, wide))
    w.add_tensor("blk.0.ffn_down.weight", some(wide, inner))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def main(folder):
    path = Path(folder) / "tiny.gguf"
    make(path)
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_ctx = 16384
    params.n_parallel = 1
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(params)
    print(f"{server.listening_address}/v1" if hasattr(server, "listening_address") else f"http://127.0.0.1:{port}/v1", flush=True)
    sys.stdin.read()


main(*sys.argv[1:])
