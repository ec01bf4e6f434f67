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

/** Patterns of 300 characters that take some 0.3 s each to compile. */
export function patternDefinition(count: number): Definition {
  const expect = (index: number) => ({ type: 'text', pattern: `(?:${'abcdefghij'.repeat(30)}${index}){1000}` })
  const ask = (index: number) => ({ type: 'ask', message: { body: 'Which one?' }, expect: expect(index) })
  return definitionWith(range(count, (index) => ({ id: `ask${index}`, ...ask(index) })))
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
