import { expect } from 'chai'
import type { Problem } from '../../../src/engine/language/definition/problems.ts'
import { checkDefinitionTask, joinProblems } from '../../../src/features/definition-checks/check-definition.ts'
import { say } from '../../support/steps.ts'

const KB = 1024
const LONG = 'k'.repeat(250_000)
const times = <T>(count: number, build: (index: number) => T) =>
  Array.from({ length: count }, (_, index) => build(index))
const assign = (count: number) => ({
  id: 's',
  type: 'set',
  values: Object.fromEntries(times(count, (index) => [`v${index}`, 1])),
})
const read = (path: string, count: number) => times(count, (index) => `{{${path}${index}}}`).join('')

async function check(...steps: object[]): Promise<{ errors: Problem[]; warnings: Problem[] }> {
  const definition = { version: 1, triggers: [{ type: 'api' }], steps }
  const { errors, warnings } = await checkDefinitionTask.run({ definition, allowsLoopback: false })
  return { errors: joinProblems(errors), warnings: joinProblems(warnings) }
}

describe('the problems of a hostile definition', () => {
  const unknownKeys = Object.fromEntries(times(17_000, (index) => [`key${index}`, 1]))
  const cases: [name: string, steps: object[]][] = [
    ['an id of 250 KB and 17,000 unknown fields', [say(LONG, 'x', unknownKeys)]],
    [
      'a key of 250 KB with 5,000 unknown placeholders',
      [{ id: 'e', type: 'emit', event: 'x', data: { [LONG]: times(25, () => read('nope.a', 200)) } }],
    ],
    ['an unknown field of 250 KB', [say('a', 'x', { [LONG]: 1 })]],
    ['40,000 variables and 100 reads of others', [assign(40_000), say('a', read('steps.s.output.x', 100))]],
    [
      '20,000 variables and 4,900 reads of others',
      [assign(20_000), ...times(49, (index) => say(`a${index}`, read('steps.s.output.x', 100)))],
    ],
    [
      '100 unknown fields of characters that JSON escapes',
      [say('a', 'x', Object.fromEntries(times(100, (index) => [`${index}${'\u0001'.repeat(250)}`, 1])))],
    ],
  ]
  for (const [name, steps] of cases) {
    it(`have at most 128 KB: ${name}`, async () => {
      const { errors, warnings } = await check(...steps)
      expect(errors.length + warnings.length).to.be.greaterThan(0)
      expect(JSON.stringify(errors).length).to.be.lessThan(129 * KB)
      expect(JSON.stringify(warnings).length).to.be.lessThan(129 * KB)
    }).timeout(5000)
  }

  it('name the first characters of a long id and a long field', async () => {
    const { errors } = await check(say(LONG, 'x', { [LONG]: 1 }))
    const [problem] = errors.filter(({ code }) => code === 'unknown_field')
    expect(problem?.stepId).to.equal(`${'k'.repeat(100)}…`)
    expect(problem?.path).to.equal(`steps.0.${'k'.repeat(100)}…`)
    expect(problem?.message).to.match(/^Step "k{100}…": k{100}… is an unknown field\./)
  })

  it('list 20 fields of a step that has more', async () => {
    const { warnings } = await check(assign(40), say('a', '{{steps.s.output.x}}'))
    expect(warnings[0]?.message).to.match(/Fields of the output: v0, v1, .*, v19 … and 20 more$/)
  })

  it('say how many are left out if their texts are too long', async () => {
    const fields = Object.fromEntries(times(99, (index) => [`${index}${'\u0001'.repeat(250)}`, 1]))
    const { errors } = await check(say('a'.repeat(60) + '\u0001'.repeat(190), 'x', fields))
    expect(errors.length).to.be.lessThan(99)
    expect(errors.at(-1)?.code).to.equal('more_problems')
    expect(errors.at(-1)?.message).to.include(`${100 - (errors.length - 1)} more problems`)
  })

  const jump = (index: number) => ({ id: `s${index}`, type: 'goto', to: index === 0 ? 'end' : `s${index - 1}` })
  const loop = (steps: object[]) => ({ id: 'l', type: 'loop', over: '{{input}}', max: 2, steps })

  it('are too many steps alone, if loops have more than 500 steps', async () => {
    const startedAt = process.cpuUsage()
    const { errors, warnings } = await check(loop(times(5000, jump)), say('a', '{{nobody}}', { next: 'nowhere' }))
    expect(errors.map(({ code }) => code)).to.deep.equal(['too_many_steps'])
    expect(errors[0]?.message).to.equal(
      'The workflow has more than 500 steps, including those in loops: move some of them to another workflow',
    )
    expect(warnings).to.deep.equal([])
    expect(process.cpuUsage(startedAt).user).to.be.lessThan(1_000_000)
  })

  it('are not too many steps, if there are 500 with those in loops', async () => {
    const { errors } = await check(loop(times(499, jump)))
    expect(errors.map(({ code }) => code)).to.not.include('too_many_steps')
  })
})
