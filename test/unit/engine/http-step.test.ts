import { expect } from 'chai'
import { compileDefinition } from '../../../src/engine/compile/compile-definition.ts'
import type { ExternalResult } from '../../../src/engine/model/step.ts'
import { workflowLanguage } from '../../../src/workflow-language.ts'
import { PlayedRun } from '../../support/workflow.ts'

function play(fields: object, rest: object = {}, variables: object = {}): PlayedRun {
  const given = Object.entries(variables).map(([name, value]) => [name, { type: 'string', default: value }])
  const definition = {
    variables: Object.fromEntries(given),
    steps: [{ id: 'call', type: 'http', url: 'https://api.example.com/quote', ...fields }],
    ...rest,
  }
  return new PlayedRun(definition)
}

/** What is asked of the outside once the run has started. */
function requestOf(run: PlayedRun) {
  const { call } = run.start()
  return call?.target === 'external' ? call.request : undefined
}

function failureOf(run: PlayedRun) {
  return run.start().run.error
}

function problemsOf(fields: object) {
  const step = { id: 'call', type: 'http', url: 'https://api.example.com/quote', ...fields }
  return compileDefinition({ version: 1, steps: [step] }, workflowLanguage).errors.map(
    ({ code, path }) => `${code} ${path}`,
  )
}

describe('the http step', () => {
  it('asks for what its templates come to', () => {
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
    expect(requestOf(run)).to.deep.equal({
      type: 'http',
      method: 'POST',
      url: 'https://api.example.com/S%C3%A3o+Paulo?a=1&tag=vip&n=3',
      headers: { 'content-type': 'application/json', 'x-name': 'Ana', accept: 'application/json' },
      body: '{"who":"Ana","tags":["vip"],"fixed":[1,null]}',
      idempotencyKey: 'order-c1',
    })
  })

  it('sends text as text, unless a header says what it is', () => {
    expect(requestOf(play({ method: 'PUT', text: 'Hi {{contact.name}}' }))).to.deep.include({
      body: 'Hi Ana',
      headers: { 'content-type': 'text/plain; charset=utf-8' },
    })
    const xml = play({ method: 'PUT', text: '<a/>', headers: { 'Content-Type': 'application/xml' } })
    expect(requestOf(xml)).to.deep.include({ headers: { 'content-type': 'application/xml' } })
  })

  it('shows what it asked for, without secrets', () => {
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

  it('fails for good if what its templates come to cannot be sent', () => {
    const broken = play({ headers: { 'X-Note': '{{vars.note}}' } }, {}, { note: 'a\r\nX-Forged: yes' })
    expect(failureOf(broken)).to.include({ code: 'invalid_header' })
    expect(failureOf(play({ idempotencyKey: '{{vars.key}}' }, {}, { key: 'a\nb' }))).to.include({
      code: 'invalid_header',
    })
    expect(failureOf(play({ url: '{{vars.url}}' }, {}, { url: 'not a url' }))).to.include({ code: 'invalid_url' })
    const retried = play({ url: '{{vars.url}}', retry: { max: 3 } }, {}, { url: 'not a url' })
    expect(failureOf(retried)).to.include({ code: 'invalid_url' })
  })

  const answer = (status: number): ExternalResult => ({
    ok: true,
    output: { status, headers: {}, json: { total: 7 }, text: null },
  })

  it('goes on with the answer', () => {
    const run = play({ saveAs: 'vars.quote' })
    run.start()
    const { run: after, steps } = run.take({ type: 'external_result', epoch: run.run.epoch, result: answer(200) })
    expect([after.status, after.variables['quote']]).to.deep.equal([
      'completed',
      { status: 200, headers: {}, json: { total: 7 }, text: null },
    ])
    expect(steps[0]?.output).to.have.property('status', 200)
  })

  it('fails on the statuses that it is told to fail on', () => {
    const outcome = (failOn: string | undefined, status: number) => {
      const run = play(failOn ? { failOn } : {})
      run.start()
      return run.take({ type: 'external_result', epoch: run.run.epoch, result: answer(status) }).run.status
    }
    const table: [string | undefined, number, string][] = [
      [undefined, 399, 'completed'],
      [undefined, 404, 'failed'],
      [undefined, 503, 'failed'],
      ['4xx_5xx', 400, 'failed'],
      ['5xx', 404, 'completed'],
      ['5xx', 500, 'failed'],
      ['network', 503, 'completed'],
    ]
    for (const [failOn, status, expected] of table)
      expect(outcome(failOn, status), `${failOn} ${status}`).to.equal(expected)
  })

  it('tries again after what may pass, and not after what will not', () => {
    for (const [status, expected] of [
      [503, 'waiting'],
      [429, 'waiting'],
      [404, 'failed'],
      [401, 'failed'],
    ] as const) {
      const run = play({ retry: { max: 1, delay: '5s' } })
      run.start()
      expect(
        run.take({ type: 'external_result', epoch: run.run.epoch, result: answer(status) }).run.status,
        String(status),
      ).to.equal(expected)
    }
  })

  it('asks for the same under the same index when it tries again', () => {
    const run = play({ retry: { max: 1, delay: '5s' } })
    const first = run.start().effects[0]
    run.take({
      type: 'external_result',
      epoch: run.run.epoch,
      result: { ok: false, error: { code: 'unreachable', message: 'No' } },
    })
    const second = run.ring().effects[0]
    expect([second?.stepIndex, run.run.open?.attempt]).to.deep.equal([first?.stepIndex, 2])
  })

  it('is refused at publish if it can never be made', () => {
    expect(problemsOf({})).to.deep.equal([])
    expect(problemsOf({ url: 'http://169.254.169.254/latest' })).to.deep.equal(['private_host steps.0.url'])
    expect(problemsOf({ url: 'http://2130706433/{{vars.x}}' })).to.deep.equal(['private_host steps.0.url'])
    expect(problemsOf({ url: 'https://user:pass@example.com/' })).to.deep.equal(['invalid_url steps.0.url'])
    expect(problemsOf({ url: 'ftp://example.com/' })).to.deep.equal(['invalid_url steps.0.url'])
    expect(problemsOf({ headers: { 'a b': 'c' } })).to.deep.equal(['invalid_header steps.0.headers.a b'])
    expect(problemsOf({ headers: { Host: 'inside' } })).to.deep.equal(['invalid_header steps.0.headers.Host'])
    expect(problemsOf({ headers: { a: '1', A: '2' } })).to.deep.equal(['invalid_header steps.0.headers.A'])
    expect(problemsOf({ method: 'POST', json: {}, text: 'x' })).to.deep.equal(['invalid steps.0.text'])
    expect(problemsOf({ json: {} })).to.deep.equal(['invalid steps.0.method'])
    expect(problemsOf({ credentialId: 'c1' })).to.deep.equal(['not_supported steps.0.credentialId'])
    expect(problemsOf({ method: 'TRACE' })).to.deep.equal(['invalid steps.0.method'])
    expect(problemsOf({ url: 'https://x.example/{{nothing.x}}' })).to.deep.equal(['unknown_root steps.0.url'])
  })
})
