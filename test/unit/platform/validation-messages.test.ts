import '../../../src/platform/validation-messages.ts'
import { expect } from 'chai'
import { z } from 'zod'

const FORMS = z.discriminatedUnion('type', [
  z.object({ type: z.literal('message') }),
  z.object({ type: z.literal('event') }),
])

const CASES: [name: string, schema: z.ZodType, input: unknown, message: string][] = [
  ['a missing field', z.string(), undefined, 'is required'],
  ['a number instead of a string', z.string(), 1, 'must be a string'],
  ['a string instead of an integer', z.int(), 'a', 'must be a number'],
  ['a fraction instead of an integer', z.int(), 1.5, 'must be an integer'],
  ['a string instead of a list', z.array(z.string()), 'a', 'must be a list'],
  ['a list instead of an object', z.object({}), [], 'must be an object'],
  ['a short string', z.string().min(3), 'a', 'must have at least 3 characters'],
  ['a long list', z.array(z.int()).max(1), [1, 2], 'must have at most 1 entries'],
  ['a small number', z.number().min(1), 0, 'must be at least 1'],
  ['a missing option', z.enum(['a', 'b']), undefined, 'is required'],
  ['a missing value of several forms', z.union([z.string(), z.int()]), undefined, 'is required'],
  ['an unknown option', z.enum(['a', 'b']), 'c', 'must be one of "a", "b"'],
  ['another value than the only one', z.literal('a'), 'c', 'must be "a"'],
  ['a malformed UUID', z.uuid(), 'a', 'must be a valid uuid'],
  ['an odd number', z.number().multipleOf(2), 3, 'must be a multiple of 2'],
  ['a missing type of several', FORMS, { body: 'x' }, 'is required: one of "message", "event"'],
  ['an unknown type of several', FORMS, { type: 'x' }, 'must be one of "message", "event"'],
  ['a value of no variant', z.union([z.string(), z.int()]), true, 'has none of the allowed forms'],
  ['a schema with a message of its own', z.string('must be a name'), 1, 'must be a name'],
]

describe('validation messages', () => {
  for (const [name, schema, input, message] of CASES) {
    it(`describe ${name} as "${message}"`, () => {
      expect(schema.safeParse(input).error?.issues[0]?.message).to.equal(message)
    })
  }
})
