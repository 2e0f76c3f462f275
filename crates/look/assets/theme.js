{
  // Light or dark as the reader has it; paper is light.
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const set = (on) => { document.documentElement.dataset.theme = on ? 'dark' : 'light'; };
  dark.addEventListener('change', () => set(dark.matches));
  addEventListener('beforeprint', () => set(false));
  addEventListener('afterprint', () => set(dark.matches));
  set(dark.matches);
}
