/** What a view shows, as a file of whoever looks. */
export function save(name: string, type: string, content: string | Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** Rows as CSV (RFC 4180). What a spreadsheet would take for a formula is led by an apostrophe. */
export function csv(rows: Record<string, unknown>[]): string {
  const names = [...new Set(rows.flatMap(Object.keys))];
  const cell = (value: unknown): string => {
    const text = value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);
    const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  return [names, ...rows.map((row) => names.map((name) => row[name]))].map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

/** What of a reply is a table: its first list; else the reply itself. */
export function rowsOf(reply: unknown): Record<string, unknown>[] {
  const lists = Array.isArray(reply) ? [reply] : Object.values((reply ?? {}) as object).filter(Array.isArray);
  const rows = (lists.find((each) => each.length) ?? lists[0] ?? [reply ?? {}]) as unknown[];
  return rows.map((each) => (each && typeof each === "object" ? (each as Record<string, unknown>) : { value: each }));
}
