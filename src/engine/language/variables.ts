import { parseInstant } from '../../platform/zoned-time.ts'
import type { VariableType } from './definition/variables.ts'

type Assigned = { ok: true; value: unknown } | { ok: false }

const REFUSED: Assigned = { ok: false }

/**
 * What a variable of this type holds after the assignment. Converts where nothing is lost, as from the text of a reply
 * to a number; null empties any variable.
 */
export function assignVariable(type: VariableType, value: unknown): Assigned {
  if (value === null || value === undefined) return { ok: true, value: null }
  switch (type) {
    case 'string':
      return typeof value === 'object' ? REFUSED : accept(String(value))
    case 'number':
      return typeof value === 'number' ? accept(value) : fromText(value, asNumber)
    case 'boolean':
      return typeof value === 'boolean' ? accept(value) : fromText(value, asBoolean)
    case 'date':
      return fromText(value, (text) => (parseInstant(text, 'UTC') === undefined ? undefined : text))
    case 'list':
      return Array.isArray(value) ? accept(value) : REFUSED
    case 'object':
      return typeof value === 'object' && !Array.isArray(value) ? accept(value) : REFUSED
  }
}

function accept(value: unknown): Assigned {
  return { ok: true, value }
}

function fromText(value: unknown, read: (text: string) => unknown): Assigned {
  const result = typeof value === 'string' ? read(value.trim()) : undefined
  return result === undefined ? REFUSED : accept(result)
}

function asNumber(text: string): number | undefined {
  return /^[+-]?\d+(\.\d+)?$/.test(text) ? Number(text) : undefined
}

function asBoolean(text: string): boolean | undefined {
  const lower = text.toLowerCase()
  if (lower === 'true') return true
  return lower === 'false' ? false : undefined
}
