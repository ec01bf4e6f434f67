/** A cell of a line that is written. */
export type CsvValue = string | number | boolean | Date | null

/** The beginning of a formula; some East Asian spreadsheets take the full-width signs as well. */
const FORMULA = /^'*[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]/
const NUMBER = /^[+-]?\d+$/

/** Writes a line of CSV. A spreadsheet executes a cell that begins like a formula, so it gets an apostrophe in front. */
export function toCsvLine(values: readonly CsvValue[]): string {
  return `${values.map(toCell).join(',')}\r\n`
}

function toCell(value: CsvValue): string {
  if (value === null) return ''
  const text = value instanceof Date ? value.toISOString() : String(value)
  const safe = FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** Returns the text of a cell without the apostrophe that keeps a spreadsheet from executing it. */
export function fromCell(text: string): string {
  return text.startsWith("'") && FORMULA.test(text) ? text.slice(1) : text
}
