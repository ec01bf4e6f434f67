import { assertBounded, assertBoundedText } from '../../platform/bounded-json.ts'
import { InvalidError } from '../../platform/errors.ts'
import { json } from '../../trpc/schemas.ts'

/**
 * Parses any JSON that can be stored, within the bounds of the bodies of the API. An empty body is null.
 * @throws InvalidError
 */
export function parseInput(body: Buffer): unknown {
  if (body.length === 0) return null
  assertBoundedText(body)
  const input = parse(body)
  assertBounded(input)
  const result = json.safeParse({ input })
  if (!result.success) throw new InvalidError(`The body ${result.error.issues[0]?.message ?? 'cannot be stored'}`)
  return input
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch (cause) {
    throw new InvalidError('The body is not valid JSON', undefined, 'invalid_json', { cause })
  }
}
