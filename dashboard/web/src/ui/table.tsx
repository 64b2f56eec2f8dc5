import type { ComponentChildren } from 'preact';

/** A table of some lines. On narrow screens it scrolls by itself; the keyboard reaches it for that. */
export function Table({ label, head, rows, more = 0 }: {
  label: string;
  head: string[];
  rows: { key: string; cells: ComponentChildren[] }[];
  more?: number;
}) {
  return (
    <div class="plain-table" tabIndex={0} role="region" aria-label={label}>
      <table class="pf-v6-c-table pf-m-compact" aria-label={label}>
        <thead class="pf-v6-c-table__thead">
          <tr class="pf-v6-c-table__tr">
            {head.map((title) => (
              <th key={title} scope="col" class="pf-v6-c-table__th">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody class="pf-v6-c-table__tbody">
          {rows.map((row) => (
            <tr key={row.key} class="pf-v6-c-table__tr">
              {row.cells.map((cell, i) => (
                <td key={head[i]} class="pf-v6-c-table__td">
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {more > 0 && <p class="quiet">and {more} more</p>}
    </div>
  );
}
