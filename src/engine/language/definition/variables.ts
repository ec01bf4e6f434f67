import { z } from 'zod'
import { ident } from './names.ts'
import { parseInstant } from '../../../platform/calendar/zoned-time.ts'

const VARIABLE_TYPES = ['string', 'number', 'boolean', 'date', 'list', 'object'] as const
export type VariableType = (typeof VARIABLE_TYPES)[number]

export const Variable = z
  .strictObject({
    type: z.enum(VARIABLE_TYPES),
    default: z.unknown().optional(),
    sensitive: z.boolean().default(false),
  })
  .transform(({ type, default: initial, sensitive }, issues) => {
    const value = assignVariable(type, initial ?? null)
    if (value.ok) return { type, default: value.value, sensitive }
    issues.addIssue({
      code: 'custom',
      path: ['default'],
      message: `must be ${type === 'object' ? 'an' : 'a'} ${type}`,
      params: { code: 'type_mismatch' },
    })
    return z.NEVER
  })
export type Variable = z.output<typeof Variable>

export const Variables = z.record(ident, Variable)

type Conversion = { ok: true; value: unknown } | { ok: false }

const REJECTED: Conversion = { ok: false }

/**
 * Converts a value to the type of a variable where no information is lost, such as the text of a reply to a number. Null
 * clears a variable of any type.
 */
export function assignVariable(type: VariableType, value: unknown): Conversion {
  if (value === null || value === undefined) return { ok: true, value: null }
  switch (type) {
    case 'string':
      return typeof value === 'object' ? REJECTED : accept(String(value))
    case 'number':
      return typeof value === 'number' ? accept(value) : fromText(value, asNumber)
    case 'boolean':
      return typeof value === 'boolean' ? accept(value) : fromText(value, asBoolean)
    case 'date':
      return fromText(value, (text) => (parseInstant(text, 'UTC') === undefined ? undefined : text))
    case 'list':
      return Array.isArray(value) ? accept(value) : REJECTED
    case 'object':
      return typeof value === 'object' && !Array.isArray(value) ? accept(value) : REJECTED
  }
}

function accept(value: unknown): Conversion {
  return { ok: true, value }
}

function fromText(value: unknown, read: (text: string) => unknown): Conversion {
  const result = typeof value === 'string' ? read(value.trim()) : undefined
  return result === undefined ? REJECTED : accept(result)
}

function asNumber(text: string): number | undefined {
  return /^[+-]?\d+(\.\d+)?$/.test(text) ? Number(text) : undefined
}

function asBoolean(text: string): boolean | undefined {
  const lower = text.toLowerCase()
  if (lower === 'true') return true
  return lower === 'false' ? false : undefined
}
