import { z } from 'zod'
import { assignVariable } from '../variables.ts'
import { ident } from './names.ts'

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
