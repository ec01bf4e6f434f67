import { z } from 'zod'
import { TEMPLATE_LENGTH_MAX } from '../liquid.ts'

const NAME = /^[a-z][a-z0-9_]{0,63}$/
const RULE = 'must start with a small letter and go on with small letters, digits and _, 64 at most'

/** The target that ends the run. */
export const END = 'end'

/** Within a loop: on to the next round, and out of the loop. */
export const CONTINUE = 'continue'
export const BREAK = 'break'

/** What a target may be besides a step. */
const RESERVED = new Set([END, CONTINUE, BREAK])

export const ident = z.string().regex(NAME, RULE)

export const stepId = ident
  .refine((id) => !RESERVED.has(id), {
    message: `must be another name: ${[...RESERVED].join(', ')} are reserved`,
    params: { code: 'reserved_id' },
  })
  .meta({ not: { enum: [...RESERVED] } })

/** A step of the same list, or a reserved word. Whether it is there is checked on the whole. */
export const target = ident

/** A custom event, such as `order.paid`. */
export const eventName = z
  .string()
  .regex(/^[a-z][a-z0-9_.]{0,63}$/, 'must start with a small letter and go on with small letters, digits, _ and .')

/** `vars.city`, read as `city`. */
export const variablePath = z
  .string()
  .regex(/^vars\.[a-z][a-z0-9_]{0,63}$/, 'must be a variable such as vars.city')
  .transform((path) => path.slice('vars.'.length))

/** A text with placeholders, as long as a template may be. */
export const templateText = z.string().min(1, 'must not be empty').max(TEMPLATE_LENGTH_MAX)
