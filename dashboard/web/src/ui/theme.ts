// Light or dark: as the system says, or as was chosen on this page.

import { useEffect, useState } from 'preact/hooks';

export type ThemeChoice = 'system' | 'light' | 'dark';
const KEY = 'drydock-theme';
const DARK = 'pf-v6-theme-dark';
const system = matchMedia('(prefers-color-scheme: dark)');
const listeners = new Set<() => void>();

function choice(): ThemeChoice {
  const stored = localStorage.getItem(KEY);
  return stored === 'light' || stored === 'dark' ? stored : 'system';
}

function isDark(): boolean {
  const chosen = choice();
  return chosen === 'system' ? system.matches : chosen === 'dark';
}

export function applyTheme(): void {
  document.documentElement.classList.toggle(DARK, isDark());
  for (const listener of listeners) listener();
}

export function followSystemTheme(): void {
  system.addEventListener('change', applyTheme);
  applyTheme();
}

function choose(theme: ThemeChoice): void {
  if (theme === 'system') localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, theme);
  applyTheme();
}

/** Whether the page is dark, and how to change that. */
export function useTheme(): { dark: boolean; toggle: () => void } {
  const [dark, set] = useState(isDark);
  useEffect(() => {
    const read = () => set(isDark());
    listeners.add(read);
    return () => {
      listeners.delete(read);
    };
  }, []);
  // Back to what the system says is to choose the same as it: then the page follows it again.
  const toggle = () => choose(dark === system.matches ? (dark ? 'light' : 'dark') : 'system');
  return { dark, toggle };
}
