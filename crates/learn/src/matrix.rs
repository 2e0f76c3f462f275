//! Sparse vectors as rows of one table: the word hashes become column numbers once, in order of hash, so that
//! clusterings and kernels work on small integers and sum in one fixed order.

use crate::sparse::SparseVec;

/// Rows of (column, value), columns ascending. What is not finite counts as 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Matrix {
    /// Column number → word hash, ascending.
    names: Vec<u64>,
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
    /// Squared length of each row.
    squares: Vec<f64>,
}

/// One row: parallel slices, columns ascending.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// Columns that are not zero.
    pub columns: &'a [u32],
    /// Their values.
    pub values: &'a [f64],
    /// Sum of the squares of the values.
    pub square: f64,
}

impl Row<'_> {
    /// Columns with their values.
    pub fn iter(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.columns.iter().zip(self.values).map(|(c, v)| (*c as usize, *v))
    }
    /// With a vector that has a value for every column.
    pub fn dot_dense(&self, dense: &[f64]) -> f64 {
        self.iter().map(|(c, v)| v * dense.get(c).copied().unwrap_or(0.0)).sum()
    }
    /// Dot product with a row of the same matrix.
    pub fn dot(&self, other: &Row) -> f64 {
        let (mut i, mut j, mut sum) = (0, 0, 0.0);
        while let (Some(a), Some(b)) = (self.columns.get(i), other.columns.get(j)) {
            match a.cmp(b) {
                std::cmp::Ordering::Less => i += 1,
                std::cmp::Ordering::Greater => j += 1,
                std::cmp::Ordering::Equal => {
                    if let (Some(x), Some(y)) = (self.values.get(i), other.values.get(j)) {
                        sum += x * y;
                    }
                    i += 1;
                    j += 1;
                }
            }
        }
        sum
    }
    /// Squared Euclidean distance. With one column it is exact, otherwise never below 0.
    pub fn distance2(&self, other: &Row) -> f64 {
        if self.columns.len() <= 1 && other.columns == self.columns {
            let d = self.values.first().unwrap_or(&0.0) - other.values.first().unwrap_or(&0.0);
            return d * d;
        }
        (self.square + other.square - 2.0 * self.dot(other)).max(0.0)
    }
}

fn finite(v: f64) -> f64 {
    if v.is_finite() { v } else { 0.0 }
}

impl Matrix {
    /// One row per vector; values that are not finite count as 0.
    pub fn of(vectors: &[SparseVec]) -> Matrix {
        Matrix::with(vectors, &[]).0
    }

    /// Two lists over the same columns: data, and starting centres that may have words of their own.
    pub fn with(data: &[SparseVec], more: &[SparseVec]) -> (Matrix, Matrix) {
        let mut names: Vec<u64> = data.iter().chain(more).flat_map(|v| v.iter().map(|e| e.0)).collect();
        names.sort_unstable();
        names.dedup();
        // Column numbers are u32: four billion distinct words do not fit into memory anyway.
        names.truncate(u32::MAX as usize);
        (Matrix::over(names.clone(), data), Matrix::over(names, more))
    }

    fn over(names: Vec<u64>, vectors: &[SparseVec]) -> Matrix {
        let mut m = Matrix { names, starts: vec![0], ..Matrix::default() };
        for v in vectors {
            let mut from = 0;
            for (hash, value) in v.iter() {
                // Both are sorted: go on from where the last word was.
                let Some(rest) = m.names.get(from..) else { break };
                let Ok(at) = rest.binary_search(&hash) else { continue };
                from += at;
                m.columns.push(from as u32);
                m.values.push(finite(value));
            }
            m.end_row();
        }
        m
    }

    /// Plain numbers: one column.
    pub fn of_values(values: &[f64]) -> Matrix {
        let mut m = Matrix { names: vec![0], starts: vec![0], ..Matrix::default() };
        for v in values {
            m.columns.push(0);
            m.values.push(finite(*v));
            m.end_row();
        }
        m
    }

    fn end_row(&mut self) {
        let start = self.starts.last().copied().unwrap_or(0);
        let square = self.values.get(start..).map_or(0.0, |v| v.iter().map(|x| x * x).sum());
        self.squares.push(finite(square));
        self.starts.push(self.columns.len());
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.squares.len()
    }
    /// There are no rows.
    pub fn is_empty(&self) -> bool {
        self.squares.is_empty()
    }
    /// How many distinct words there are.
    pub fn width(&self) -> usize {
        self.names.len()
    }
    /// An index out of range is an empty row.
    pub fn row(&self, i: usize) -> Row<'_> {
        let range = match (self.starts.get(i), self.starts.get(i + 1)) {
            (Some(a), Some(b)) => *a..*b,
            _ => 0..0,
        };
        Row {
            columns: self.columns.get(range.clone()).unwrap_or(&[]),
            values: self.values.get(range).unwrap_or(&[]),
            square: self.squares.get(i).copied().unwrap_or(0.0),
        }
    }
    /// All rows in order.
    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        (0..self.len()).map(|i| self.row(i))
    }
    /// A vector with a value for every column, back to words; zeros are left out.
    pub fn name(&self, dense: &[f64]) -> SparseVec {
        SparseVec::new(self.names.iter().zip(dense).filter(|e| *e.1 != 0.0).map(|(n, v)| (*n, *v)).collect())
    }
    /// Only these rows, over the same columns.
    pub fn pick(&self, rows: &[usize]) -> Matrix {
        let mut m = Matrix { names: self.names.clone(), starts: vec![0], ..Matrix::default() };
        for &i in rows {
            let row = self.row(i);
            m.columns.extend_from_slice(row.columns);
            m.values.extend_from_slice(row.values);
            m.end_row();
        }
        m
    }
}

/// Word → (row, value): products with every row at once, for scoring one page against many examples.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Postings {
    names: Vec<u64>,
    starts: Vec<u32>,
    entries: Vec<(u32, f64)>,
    rows: usize,
}

impl Postings {
    /// Lists the vectors that have each feature.
    pub fn of(vectors: &[SparseVec]) -> Postings {
        let mut all: Vec<(u64, u32, f64)> = Vec::new();
        for (i, v) in vectors.iter().enumerate() {
            all.extend(v.iter().map(|(h, x)| (h, i as u32, finite(x))));
        }
        all.sort_by_key(|e| (e.0, e.1));
        let mut p = Postings { rows: vectors.len(), ..Postings::default() };
        for (h, i, x) in all {
            if p.names.last() != Some(&h) {
                p.names.push(h);
                p.starts.push(p.entries.len() as u32);
            }
            p.entries.push((i, x));
        }
        p.starts.push(p.entries.len() as u32);
        p
    }
    /// Number of vectors.
    pub fn rows(&self) -> usize {
        self.rows
    }
    /// The sum of the rows, each times its weight, at one word.
    pub fn weighted(&self, word: u64, weights: &[f64]) -> f64 {
        let Ok(at) = self.names.binary_search(&word) else { return 0.0 };
        let (Some(a), Some(b)) = (self.starts.get(at), self.starts.get(at + 1)) else { return 0.0 };
        let rows = self.entries.get(*a as usize..*b as usize).unwrap_or(&[]);
        rows.iter().map(|(row, v)| v * weights.get(*row as usize).copied().unwrap_or(0.0)).sum()
    }
    /// The product of `x` with each row.
    pub fn dots(&self, x: &SparseVec, out: &mut Vec<f64>) {
        out.clear();
        out.resize(self.rows, 0.0);
        for (h, w) in x.iter() {
            let Ok(at) = self.names.binary_search(&h) else { continue };
            let (Some(a), Some(b)) = (self.starts.get(at), self.starts.get(at + 1)) else { continue };
            for (row, v) in self.entries.get(*a as usize..*b as usize).unwrap_or(&[]) {
                if let Some(sum) = out.get_mut(*row as usize) {
                    *sum += finite(w) * v;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_products_and_distances() {
        let a = SparseVec::new(vec![(9, 3.0), (4, 4.0)]);
        let b = SparseVec::new(vec![(9, 1.0), (7, f64::NAN)]);
        let (m, more) = Matrix::with(&[a.clone(), b.clone()], &[SparseVec::new(vec![(1, 2.0)])]);
        assert_eq!((m.len(), m.width(), more.len(), more.width()), (2, 4, 1, 4));
        assert_eq!(m.row(0).columns, [1, 3]);
        assert_eq!(m.row(0).square, 25.0);
        assert_eq!(m.row(0).dot(&m.row(1)), 3.0);
        assert_eq!(m.row(0).distance2(&m.row(1)), 25.0 + 1.0 - 6.0);
        assert_eq!(m.row(0).distance2(&more.row(0)), 29.0);
        assert_eq!(m.name(&[0.0, 4.0, 0.0, 3.0]), a);
        assert_eq!(m.row(99).columns.len(), 0);
        assert_eq!(m.pick(&[1, 1, 7]).row(1).dot_dense(&[0.0, 0.0, 5.0, 2.0]), 2.0);
        let mut dots = Vec::new();
        Postings::of(&[a.clone(), b]).dots(&a, &mut dots);
        assert_eq!(dots, [25.0, 3.0]);
        let p = Postings::of(&[a.clone(), SparseVec::new(vec![(9, 1.0)])]);
        assert_eq!(
            (p.weighted(9, &[2.0, 10.0]), p.weighted(4, &[2.0, 10.0]), p.weighted(5, &[1.0])),
            (16.0, 8.0, 0.0)
        );
        Postings::of(&[]).dots(&a, &mut dots);
        assert!(dots.is_empty());
    }
}
