import { doublingSchema } from './expensive-schemas.ts'

type Definition = { version: 1; triggers: object[]; steps: object[] }

function definitionWith(steps: object[]): Definition {
  return { version: 1, triggers: [{ type: 'message_received', match: { mode: 'any' } }, { type: 'manual' }], steps }
}

function range<T>(length: number, toEntry: (index: number) => T): T[] {
  return Array.from({ length }, (_, index) => toEntry(index))
}

/** Sorts the list `input.x` again and again. */
export function sortingDefinition(count = 20): Definition {
  const values = Object.fromEntries(range(count, (index) => [`v${index}`, '{{ input.x | sort_natural | size }}']))
  return definitionWith([{ id: 'sort', type: 'set', values }])
}

export function listOfTexts(length: number): string[] {
  return range(length, (index) => `t${(index * 7919) % length}`)
}

/** Patterns that are small enough each, and together more than a definition may have. */
export function patternDefinition(count: number): Definition {
  const expect = (index: number) => ({ type: 'text', pattern: `(?:${'abcdefghij'.repeat(20)}${index}){9}` })
  const ask = (index: number) => ({ type: 'ask', message: { body: 'Which one?' }, expect: expect(index) })
  return definitionWith(range(count, (index) => ({ id: `ask${index}`, ...ask(index) })))
}

/** An answer of a model whose schema takes longer to compile than a definition may. */
export function schemaDefinition(): Definition {
  return definitionWith([{ id: 'ask', type: 'ai', instructions: 'Answer', output: doublingSchema(29) }])
}

/** Unknown fields, each of which is a problem. */
export function problemDefinition(count: number): Definition {
  const fields = Object.fromEntries(range(140, (field) => [`x${field}`, 0]))
  return definitionWith(range(count / 140, (index) => ({ id: `s${index}`, type: 'stop', ...fields })))
}

/** Answers every message. */
export const ECHO = definitionWith([
  { id: 'say', type: 'send_message', message: { body: 'You said {{message.body}}' } },
])
