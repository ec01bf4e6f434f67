import { InvalidError } from '../../platform/errors.ts'
import { fromCell } from '../../platform/csv/write-csv.ts'
import type { ImportInput, ImportOptions } from './schema.ts'

type Columns = ImportInput['columns']

const COLUMNS_MAX = 200
const CELL_CHARS_MAX = 10_000

/** Headers without case, spaces and punctuation. The consent of a customer is never guessed. */
const KNOWN: ReadonlyMap<string, string> = new Map(
  Object.entries({
    name: ['name', 'fullname', 'contact', 'contactname', 'nome', 'nombre', 'nom'],
    phone: [
      'phone',
      'phonenumber',
      'mobile',
      'mobilenumber',
      'mobilephone',
      'tel',
      'telephone',
      'whatsapp',
      'celular',
      'telefone',
      'telefono',
      'telefon',
    ],
    email: ['email', 'emailaddress', 'mail', 'correo'],
    language: ['language', 'lang', 'locale', 'idioma'],
    timezone: ['timezone', 'tz'],
    externalId: ['externalid', 'customerid'],
    tags: ['tags', 'tag', 'labels', 'etiquetas'],
    fields: ['fields', 'customfields'],
  }).flatMap(([target, headers]) => headers.map((header) => [header, target])),
)

/**
 * Returns what each column is: as the mapping says, or by its header. `fields.city` is a custom field.
 * @throws InvalidError `csv_invalid`
 */
export function mapColumns(headers: string[], { mapping = {}, mode, matchBy }: ImportOptions): Columns {
  if (headers.length > COLUMNS_MAX) throw csvError(`The file has more than ${COLUMNS_MAX} columns`)
  const names = headers.map((header) => header.trim())
  const unknown = Object.keys(mapping).find((header) => !names.includes(header))
  if (unknown !== undefined) throw csvError(`The mapping names a column ${quote(unknown)}, and the first row has none`)
  const columns = names.map((header) => ({
    header: header.slice(0, 200).toWellFormed(),
    target: Object.hasOwn(mapping, header) ? (mapping[header] ?? null) : recognize(header),
  }))
  const targets = columns.flatMap((column) => column.target ?? [])
  const twice = targets.find((target, index) => targets.indexOf(target) !== index)
  const headersOfTwice = columns.flatMap(({ header, target }) => (target === twice ? [header] : []))
  if (twice !== undefined && new Set(headersOfTwice).size < headersOfTwice.length)
    throw csvError(`Several columns are ${quote(twice)} and have the same header. Rename all but one in the file`)
  if (twice !== undefined)
    throw csvError(`Several columns are ${quote(twice)}. Leave all but one out with "mapping": {"<header>": null}`)
  for (const target of new Set([matchBy, ...(mode === 'create' ? ['name', 'phone'] : [])])) {
    if (targets.includes(target)) continue
    const found = names.slice(0, 20).map(quote).join(', ')
    throw csvError(`No column is ${quote(target)}. Name it in "mapping"; the first row has ${found}`)
  }
  return columns
}

function recognize(header: string): string | null {
  const [, field] = /^fields\.(.{1,100})$/.exec(header) ?? []
  return field === undefined ? (KNOWN.get(header.toLowerCase().replaceAll(/[\s_.-]/g, '')) ?? null) : `fields.${field}`
}

export function csvError(message: string): InvalidError {
  return new InvalidError(message, undefined, 'csv_invalid')
}

function quote(text: string): string {
  return JSON.stringify(text.slice(0, 50).toWellFormed())
}

/** Converts a row to an item of a bulk call, which checks it. Empty cells are left out. Returns a text if it has a problem. */
export function toItem(cells: string[], columns: Columns): Record<string, unknown> | string {
  const extra = cells.slice(columns.length).findIndex((cell) => cell.trim() !== '')
  if (extra >= 0) return `The row has ${columns.length + extra + 1} cells, and the first row ${columns.length}`
  const item: Record<string, unknown> = {}
  const fields = new Map<string, unknown>()
  for (const [index, { header, target }] of columns.entries()) {
    const text = fromCell((cells[index] ?? '').trim())
    if (target === null || text === '') continue
    if (text.length > CELL_CHARS_MAX) return `The cell of ${quote(header)} has more than ${CELL_CHARS_MAX} characters`
    if (target === 'tags') item['tags'] = text.split(/[;,|]/).flatMap((tag) => tag.trim() || [])
    else if (target === 'marketingConsent') item['consent'] = { marketing: text }
    else if (target.startsWith('fields.')) fields.set(target.slice('fields.'.length), text)
    else if (target === 'fields') {
      const parsed = parseFields(text)
      if (!parsed) return `The cell of ${quote(header)} must be a JSON object`
      for (const [name, value] of Object.entries(parsed)) if (!fields.has(name)) fields.set(name, value)
    } else item[target] = text
  }
  if (fields.size > 0) item['fields'] = Object.fromEntries(fields)
  return item
}

function parseFields(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}
