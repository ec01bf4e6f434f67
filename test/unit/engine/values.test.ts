import { expect } from 'chai'
import { StepError } from '../../../src/engine/language/step-error.ts'
import { listPaths } from '../../../src/engine/language/template.ts'
import { resolveText, resolveValue, type Source } from '../../../src/engine/language/values.ts'

const source: Source = {
  timezone: 'America/Sao_Paulo',
  roots: {
    contact: { name: 'Ana', tags: ['vip', 'new'], fields: { age: 41, plan: { name: 'pro' } }, email: null },
    vars: { total: 12.5, paid: true, list: [1, 2], due: '2026-03-10', key: 'plan', big: 'x'.repeat(60_000) },
    steps: { ask: { output: { value: 7 } } },
    now: '2026-03-02T01:30:00.000Z',
  },
}

function errorCode(template: string): string {
  try {
    resolveValue(template, source)
  } catch (error) {
    if (error instanceof StepError) return error.code
    throw error
  }
  return 'none'
}

describe('placeholder resolution', () => {
  const cases: [template: string, value: unknown][] = [
    ['plain', 'plain'],
    ['Hi {{contact.name}}!', 'Hi Ana!'],
    ['{{contact.name}}{{contact.name}}', 'AnaAna'],
    ['{{vars.total}}', 12.5],
    [' {{vars.total}}', ' 12.5'],
    ['{{ vars.paid }}', true],
    ['{{vars.list}}', [1, 2]],
    ['{{contact.fields.plan}}', { name: 'pro' }],
    ['{{contact.fields[vars.key].name}}', 'pro'],
    ['Plan {{contact.fields.plan}}', 'Plan {"name":"pro"}'],
    ['{{contact.email}}', null],
    ['<{{contact.email}}>', '<>'],
    ['{{contact.nothing.at.all}}', null],
    ['{{vars.nothing | default: "none"}}', 'none'],
    ['{{vars.total | plus: 1}}', 13.5],
    ['{{contact.tags | join: ", "}}', 'vip, new'],
    ['{{contact.tags.size}}', 2],
    ['{{steps.ask.output.value}}', 7],
    ['{{1 | divided_by: 0}}', null],
    ['{{"%00a" | url_decode}}', 'a'],
    ['{{"%00a,b" | url_decode | split: ","}}', ['a', 'b']],
  ]
  for (const [template, value] of cases) {
    it(`resolves "${template}" to ${JSON.stringify(value)}`, () => {
      expect(resolveValue(template, source)).to.deep.equal(value)
    })
  }

  it('resolves nested values and keeps keys and other values unchanged', () => {
    const value = { 'a{{x}}': [{ b: '{{vars.total}}' }, 3, null, true] }
    expect(resolveValue(value, source)).to.deep.equal({ 'a{{x}}': [{ b: 12.5 }, 3, null, true] })
  })

  it('does not resolve placeholders inside resolved values', () => {
    const injected = { ...source, roots: { vars: { name: '{{contact.name}}' } } }
    expect(resolveText('Hi {{vars.name}}', injected)).to.equal('Hi {{contact.name}}')
  })

  it('reads only own properties', () => {
    for (const path of ['constructor', '__proto__', 'toString', 'name.constructor', 'tags.map', 'name.at']) {
      expect(resolveValue(`{{contact.${path}}}`, source), path).to.equal(null)
    }
    expect(resolveValue('{{constructor}}', source)).to.equal(null)
  })
})

describe('date placeholder resolution', () => {
  const cases: [template: string, text: string][] = [
    ['{{now}}', '2026-03-02T01:30:00.000Z'],
    ['{{now | date: "%Y-%m-%d %H:%M"}}', '2026-03-01 22:30'],
    ['{{"now" | date: "%H:%M"}}', '22:30'],
    ['{{vars.due | date: "%d/%m/%Y"}}', '10/03/2026'],
    ['{{"2026-03-10T09:00" | date: "%H:%M"}}', '09:00'],
    ['{{"2026-03-10T09:00Z" | date: "%H:%M"}}', '06:00'],
    ['{{"soon" | date: "%H:%M"}}', 'soon'],
  ]
  for (const [template, text] of cases) {
    it(`resolves "${template}" to "${text}" in the time zone America/Sao_Paulo`, () => {
      expect(resolveText(template, source)).to.equal(text)
    })
  }
})

describe('template limits', () => {
  for (const template of [
    '{% if a %}x{% endif %}{{a}}',
    '{{a',
    '{{}}',
    '{{contact.name | shell}}',
    '{{x | sample}}',
    '{{x | raw}}',
  ]) {
    it(`reject "${template}" with placeholder_failed`, () => {
      expect(errorCode(template)).to.equal('placeholder_failed')
    })
  }

  for (const template of [
    '{{(1..100000000) | join}}',
    '{{vars.big | replace: "x", vars.big}}',
    '{{now | date: "%900000000Y"}}',
  ]) {
    it(`stop "${template}" with placeholder_failed before it exhausts memory`, () => {
      expect(errorCode(template)).to.equal('placeholder_failed')
    })
  }

  it('reject a resolved value above the size limit, also when nested', () => {
    expect(errorCode('{{vars.big}}{{vars.big}}')).to.equal('value_too_large')
    expect(() => resolveValue(Array(5).fill('{{vars.big}}'), source)).to.throw(StepError, 'too large')
  })
})

describe('listPaths', () => {
  it('returns all paths of a template, including filters and brackets', () => {
    expect(listPaths('{{a.b | append: c.d}} {{e["f g"][h.i].j}} {{"text"}}')).to.deep.equal([
      ['a', 'b'],
      ['c', 'd'],
      ['e', 'f g', '', 'j'],
      ['h', 'i'],
    ])
  })
})
