//! Reading and writing the small binary states and evidence of judges and strategies: little-endian,
//! versioned by their owners, and never trusted when read (a damaged state is a message, not a panic).

use types::Problem;

/// Appends plain values to a byte buffer.
#[derive(Default)]
pub struct Writer(pub Vec<u8>);

impl Writer {
    /// One byte.
    pub fn u8(&mut self, v: u8) -> &mut Self {
        self.0.push(v);
        self
    }
    /// Four bytes, little-endian.
    pub fn u32(&mut self, v: u32) -> &mut Self {
        self.0.extend_from_slice(&v.to_le_bytes());
        self
    }
    /// Eight bytes, little-endian.
    pub fn u64(&mut self, v: u64) -> &mut Self {
        self.0.extend_from_slice(&v.to_le_bytes());
        self
    }
    /// The bits of the number, so that reading gives the same one.
    pub fn f64(&mut self, v: f64) -> &mut Self {
        self.u64(v.to_bits())
    }
    /// LEB128: small numbers take one byte.
    pub fn var(&mut self, mut v: u64) -> &mut Self {
        while v >= 0x80 {
            self.0.push(v as u8 | 0x80);
            v >>= 7;
        }
        self.0.push(v as u8);
        self
    }
    /// The length, then the bytes.
    pub fn bytes(&mut self, v: &[u8]) -> &mut Self {
        // States may be of many megabytes, and are written once: no room for as much again.
        self.0.reserve_exact(v.len() + 10);
        self.var(v.len() as u64);
        self.0.extend_from_slice(v);
        self
    }
}

/// Takes them back, in the same order.
pub struct Reader<'a>(pub &'a [u8]);

/// What a reader says of bytes that no writer made.
pub fn damaged() -> Problem {
    Problem::new("the saved state is damaged or from another version")
        .hint("run `gleaner rejudge`, or start a new collection")
}

impl<'a> Reader<'a> {
    /// The next `n` bytes as they are.
    pub fn take(&mut self, n: usize) -> Result<&'a [u8], Problem> {
        let (head, tail) = self.0.split_at_checked(n).ok_or_else(damaged)?;
        self.0 = tail;
        Ok(head)
    }
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Problem> {
        self.take(N)?.try_into().map_err(|_| damaged())
    }
    /// As [`Writer::u8`] wrote it.
    pub fn u8(&mut self) -> Result<u8, Problem> {
        Ok(self.array::<1>()?[0])
    }
    /// As [`Writer::u32`] wrote it.
    pub fn u32(&mut self) -> Result<u32, Problem> {
        Ok(u32::from_le_bytes(self.array()?))
    }
    /// As [`Writer::u64`] wrote it.
    pub fn u64(&mut self) -> Result<u64, Problem> {
        Ok(u64::from_le_bytes(self.array()?))
    }
    /// Not a number is never a state of ours.
    pub fn f64(&mut self) -> Result<f64, Problem> {
        let v = f64::from_bits(self.u64()?);
        if v.is_nan() { Err(damaged()) } else { Ok(v) }
    }
    /// As [`Writer::var`] wrote it.
    pub fn var(&mut self) -> Result<u64, Problem> {
        let mut v = 0u64;
        for shift in (0..64).step_by(7) {
            let b = self.u8()?;
            v |= u64::from(b & 0x7f) << shift;
            if b < 0x80 {
                return Ok(v);
            }
        }
        Err(damaged())
    }
    /// As [`Writer::bytes`] wrote them.
    pub fn bytes(&mut self) -> Result<&'a [u8], Problem> {
        let n = self.var()?;
        self.take(usize::try_from(n).map_err(|_| damaged())?)
    }
    /// Fails when bytes are left over.
    pub fn end(&self) -> Result<(), Problem> {
        if self.0.is_empty() { Ok(()) } else { Err(damaged()) }
    }
}
