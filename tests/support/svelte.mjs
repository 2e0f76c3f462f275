// Compiles the test's Svelte application into one script: node svelte.mjs NODE_MODULES OUT.js
import { createRequire } from 'node:module';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const [, , modules, out] = process.argv;
const require = createRequire(join(modules, 'x.js'));
const { compile } = require('svelte/compiler');
const esbuild = require('esbuild');

// Routes of paths or fragments, and links that only a click on an element without an address reveals.
const APP = `
<script>
  const hash = document.documentElement.dataset.routes === 'hash';
  const here = () => hash ? location.hash.slice(1) || '/' : location.pathname;
  const address = (to) => hash ? '#' + to : to;
  let path = $state(here()), page = $state(null);
  function go(to) { history.pushState(null, '', address(to)); path = to; }
  addEventListener('popstate', () => { path = here(); });
  $effect(() => {
    const asked = path;
    page = null;
    fetch('/api' + asked).then((r) => r.json()).then((p) => { if (asked === path) { page = p; document.title = p.title; } });
  });
</script>
{#if page}
  <main><h1>{page.title}</h1><p>{page.text}</p>
  {#each page.links as to, i}
    {#if i < page.links.length - 1}<a href={address(to)} onclick={(e) => { e.preventDefault(); go(to); }}>{to}</a>
    {:else}<div role="link" tabindex="0" onclick={() => go(to)} onkeydown={() => {}}>{to}</div>{/if}
  {/each}</main>
{:else}<p>Loading</p>{/if}
`;
const { js } = compile(APP, { filename: 'App.svelte', generate: 'client' });
const bundled = await esbuild.build({
  stdin: { contents: "import { mount } from 'svelte'; import App from 'app:it'; mount(App, { target: document.getElementById('app') });", resolveDir: modules },
  bundle: true, write: false, minify: true, format: 'iife', nodePaths: [modules], conditions: ['browser', 'production'],
  plugins: [{ name: 'app', setup(b) {
    b.onResolve({ filter: /^app:/ }, () => ({ path: 'app', namespace: 'app' }));
    b.onLoad({ filter: /.*/, namespace: 'app' }, () => ({ contents: js.code, resolveDir: modules }));
  } }],
});
writeFileSync(out, bundled.outputFiles[0].text);
