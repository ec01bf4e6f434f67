import { expect } from 'chai'
import { compileDefinition } from '../../../src/engine/compile/compile-definition.ts'
import type { ExternalResult } from '../../../src/engine/model/step.ts'
import { workflowLanguage } from '../../../src/workflow-language.ts'
import { TestRun } from '../../support/workflow.ts'

function play(fields: object, rest: object = {}, variables: object = {}): TestRun {
  const declarations = Object.entries(variables).map(([name, value]) => [name, { type: 'string', default: value }])
  const definition = {
    variables: Object.fromEntries(declarations),
    steps: [{ id: 'call', type: 'http', url: 'https://api.example.com/quote', ...fields }],
    ...rest,
  }
  return new TestRun(definition)
}

/** Starts the run and returns the external request it emits. */
function startRequest(run: TestRun) {
  const { call } = run.start()
  return call?.target === 'external' ? call.request : undefined
}

function startError(run: TestRun) {
  return run.start().run.error
}

function listProblems(fields: object) {
  const step = { id: 'call', type: 'http', url: 'https://api.example.com/quote', ...fields }
  return compileDefinition({ version: 1, steps: [step] }, workflowLanguage).errors.map(
    ({ code, path }) => `${code} ${path}`,
  )
}

describe('http step', () => {
  it('builds the request from its templates', () => {
    const run = play(
      {
        method: 'POST',
        url: 'https://api.example.com/{{vars.place | url_encode}}?a=1',
        headers: { 'X-Name': '{{contact.name}}', Accept: 'application/json' },
        query: { tag: '{{contact.tags}}', n: 3, none: '{{vars.nothing}}' },
        json: { who: '{{contact.name}}', tags: '{{contact.tags}}', fixed: [1, null] },
        idempotencyKey: 'order-{{contact.id}}',
      },
      {},
      { place: 'São Paulo' },
    )
    expect(startRequest(run)).to.deep.equal({
      type: 'http',
      credentialId: null,
      method: 'POST',
      url: 'https://api.example.com/S%C3%A3o+Paulo?a=1&tag=vip&n=3',
      headers: { 'content-type': 'application/json', 'x-name': 'Ana', accept: 'application/json' },
      body: '{"who":"Ana","tags":["vip"],"fixed":[1,null]}',
      idempotencyKey: 'order-c1',
    })
  })

  it('sends text as text/plain unless a header sets the content type', () => {
    expect(startRequest(play({ method: 'PUT', text: 'Hi {{contact.name}}' }))).to.deep.include({
      body: 'Hi Ana',
      headers: { 'content-type': 'text/plain; charset=utf-8' },
    })
    const xml = play({ method: 'PUT', text: '<a/>', headers: { 'Content-Type': 'application/xml' } })
    expect(startRequest(xml)).to.deep.include({ headers: { 'content-type': 'application/xml' } })
  })

  it('records the request without secrets', () => {
    const run = play({
      method: 'POST',
      url: 'https://api.example.com/x?api_key=abc&city=Rio',
      headers: { Authorization: 'Bearer abc', 'X-Trace': '1' },
      json: { password: 'abc', city: 'Rio' },
    })
    const [record] = run.start().steps
    expect(record?.input).to.deep.equal({
      method: 'POST',
      url: 'https://api.example.com/x?api_key=%5Bredacted%5D&city=Rio',
      headers: { 'content-type': 'application/json', authorization: '[redacted]', 'x-trace': '1' },
      json: { password: '[redacted]', city: 'Rio' },
    })
    expect(JSON.stringify(record)).not.to.contain('abc')
  })

  it('fails without a retry when its templates yield an invalid header or URL', () => {
    const broken = play({ headers: { 'X-Note': '{{vars.note}}' } }, {}, { note: 'a\r\nX-Forged: yes' })
    expect(startError(broken)).to.include({ code: 'invalid_header' })
    expect(startError(play({ idempotencyKey: '{{vars.key}}' }, {}, { key: 'a\nb' }))).to.include({
      code: 'invalid_header',
    })
    expect(startError(play({ url: '{{vars.url}}' }, {}, { url: 'not a url' }))).to.include({ code: 'invalid_url' })
    const retried = play({ url: '{{vars.url}}', retry: { max: 3 } }, {}, { url: 'not a url' })
    expect(startError(retried)).to.include({ code: 'invalid_url' })
  })

  const toResult = (status: number): ExternalResult => ({
    ok: true,
    output: { status, headers: {}, json: { total: 7 }, text: null },
  })

  it('continues with the response', () => {
    const run = play({ saveAs: 'vars.quote' })
    run.start()
    const { run: after, steps } = run.apply({ type: 'external_result', epoch: run.run.epoch, result: toResult(200) })
    expect([after.status, after.variables['quote']]).to.deep.equal([
      'completed',
      { status: 200, headers: {}, json: { total: 7 }, text: null },
    ])
    expect(steps[0]?.output).to.have.property('status', 200)
  })

  it('fails on the statuses that failOn selects', () => {
    const outcome = (failOn: string | undefined, status: number) => {
      const run = play(failOn ? { failOn } : {})
      run.start()
      return run.apply({ type: 'external_result', epoch: run.run.epoch, result: toResult(status) }).run.status
    }
    const cases: [string | undefined, number, string][] = [
      [undefined, 399, 'completed'],
      [undefined, 404, 'failed'],
      [undefined, 503, 'failed'],
      ['4xx_5xx', 400, 'failed'],
      ['5xx', 404, 'completed'],
      ['5xx', 500, 'failed'],
      ['network', 503, 'completed'],
    ]
    for (const [failOn, status, expected] of cases)
      expect(outcome(failOn, status), `${failOn} ${status}`).to.equal(expected)
  })

  it('retries after status 503 and 429 but not after 404 and 401', () => {
    for (const [status, expected] of [
      [503, 'waiting'],
      [429, 'waiting'],
      [404, 'failed'],
      [401, 'failed'],
    ] as const) {
      const run = play({ retry: { max: 1, delay: '5s' } })
      run.start()
      expect(
        run.apply({ type: 'external_result', epoch: run.run.epoch, result: toResult(status) }).run.status,
        String(status),
      ).to.equal(expected)
    }
  })

  it('repeats the request under the same step index on a retry', () => {
    const run = play({ retry: { max: 1, delay: '5s' } })
    const first = run.start().effects[0]
    run.apply({
      type: 'external_result',
      epoch: run.run.epoch,
      result: { ok: false, error: { code: 'unreachable', message: 'No' } },
    })
    const second = run.fireTimer().effects[0]
    expect([second?.stepIndex, run.run.open?.attempt]).to.deep.equal([first?.stepIndex, 2])
  })

  it('is rejected at compile time when its request can never be valid', () => {
    expect(listProblems({})).to.deep.equal([])
    expect(listProblems({ url: 'http://169.254.169.254/latest' })).to.deep.equal(['host_refused steps.0.url'])
    expect(listProblems({ url: 'http://2130706433/{{vars.x}}' })).to.deep.equal(['host_refused steps.0.url'])
    expect(listProblems({ url: 'https://user:pass@example.com/' })).to.deep.equal(['invalid_url steps.0.url'])
    expect(listProblems({ url: 'ftp://example.com/' })).to.deep.equal(['invalid_url steps.0.url'])
    expect(listProblems({ headers: { 'a b': 'c' } })).to.deep.equal(['invalid_header steps.0.headers.a b'])
    expect(listProblems({ headers: { Host: 'inside' } })).to.deep.equal(['invalid_header steps.0.headers.Host'])
    expect(listProblems({ headers: { a: '1', A: '2' } })).to.deep.equal(['invalid_header steps.0.headers.A'])
    expect(listProblems({ method: 'POST', json: {}, text: 'x' })).to.deep.equal(['invalid steps.0.text'])
    expect(listProblems({ json: {} })).to.deep.equal(['invalid steps.0.method'])
    expect(listProblems({ credentialId: 'c1' })).to.deep.equal(['invalid steps.0.credentialId'])
    expect(listProblems({ method: 'TRACE' })).to.deep.equal(['invalid steps.0.method'])
    expect(listProblems({ url: 'https://x.example/{{nothing.x}}' })).to.deep.equal(['unknown_root steps.0.url'])
  })
})
