import { z } from 'zod'
import { TEMPLATE_LENGTH_MAX } from '../liquid.ts'

const NAME = /^[a-z][a-z0-9_]{0,63}$/
const RULE = 'must start with a lower-case letter and contain only lower-case letters, digits and _, 64 at most'

/** The target that ends the run. */
export const END = 'end'

/** Targets within a loop: the next iteration, and the step after the loop. */
export const CONTINUE = 'continue'
export const BREAK = 'break'

/** Targets that are not steps. */
const RESERVED = new Set([END, CONTINUE, BREAK])

export const ident = z.string().regex(NAME, RULE)

export const stepId = ident
  .refine((id) => !RESERVED.has(id), {
    message: `must not be a reserved name (${[...RESERVED].join(', ')})`,
    params: { code: 'reserved_id' },
  })
  .meta({ not: { enum: [...RESERVED] } })

/** A step of the same list, or a reserved target. Its existence is checked when the definition is compiled. */
export const target = ident

/** A custom event, such as `order.paid`. */
export const eventName = z
  .string()
  .regex(
    /^[a-z][a-z0-9_.]{0,63}$/,
    'must start with a lower-case letter and contain only lower-case letters, digits, _ and .',
  )

/** A variable such as `vars.city`; the output is its name, `city`. */
export const variablePath = z
  .string()
  .regex(/^vars\.[a-z][a-z0-9_]{0,63}$/, 'must be a variable such as vars.city')
  .transform((path) => path.slice('vars.'.length))

/** A text with placeholders, limited to the length of a template. */
export const templateText = z.string().min(1, 'must not be empty').max(TEMPLATE_LENGTH_MAX)
