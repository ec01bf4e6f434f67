import { z } from 'zod'

/** One or more texts, separated by commas. */
export function list<Item extends z.ZodType<unknown, string>>(toItem: (message: string) => Item, message: string) {
  return z
    .string()
    .transform((text) => text.split(',').flatMap((item) => item.trim() || []))
    .pipe(z.array(toItem(message)).min(1, message))
}

/** A whole number in the text of a variable. */
export function integer(min: number, max: number, message = `must be a number from ${min} to ${max}`) {
  return z.coerce.number(message).int(message).min(min, message).max(max, message)
}

/** An http or https address, without its trailing slash. */
export function httpUrl(message: string) {
  return z
    .string()
    .refine((text) => /^https?:\/\//.test(text) && URL.canParse(text), message)
    .transform((text) => text.replace(/\/+$/, ''))
}
