import { expect } from 'chai'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { stepTypes } from '../../../src/steps/index.ts'

const FOLDER = 'src/steps'
/** Parts of the source of a step that show what it waits for. */
const WAITS: [pattern: RegExp, awaits: string][] = [
  [/for: 'reply'/, 'reply'],
  [/for: 'event'/, 'event'],
  [/for: 'timer'/, 'timer'],
  [/kind: '(external|start_run)'/, 'result'],
]
const NEEDS_CONTACT = /require(Contact|Conversation)\(|for: 'reply'/

const sources = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .map((path) => readFileSync(join(FOLDER, path), 'utf8'))
  .flatMap((source) => [...source.matchAll(/^ {2}type: '(\w+)',$/gm)].map(([, type = '']) => ({ type, source })))

describe('the declarations of a step', () => {
  it('are there for every type', () => {
    expect(sources.map(({ type }) => type)).to.have.members([...stepTypes.keys()])
  })

  for (const { type, source } of sources) {
    it(`of ${type} say what it waits for, and that it needs a contact if it fails without one`, () => {
      const awaits = WAITS.find(([pattern]) => pattern.test(source))?.[1] ?? null
      expect(stepTypes.get(type)?.awaits).to.equal(awaits)
      if (NEEDS_CONTACT.test(source)) expect(stepTypes.get(type)?.needsContact).to.equal(true)
    })
  }
})
