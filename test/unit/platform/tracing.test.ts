import { expect } from 'chai'
import { createLogger, toProcessFields } from '../../../src/platform/log.ts'
import { SECOND } from '../../../src/platform/time.ts'
import { withSpan } from '../../../src/platform/tracing/span.ts'
import { openTracing, type Tracing } from '../../../src/platform/tracing/tracing.ts'
import { NotFoundError, UnavailableError } from '../../../src/platform/errors.ts'
import { OtlpReceiver } from '../../support/otlp-receiver.ts'
import { neverReply } from '../../support/scripted-server.ts'

const CALLER = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
/** Spans that wait, and those of the request in progress. */
const KEPT_MAX = 2048 + 512

describe('tracing', function () {
  this.timeout(30_000)
  let receiver: OtlpReceiver

  beforeEach(async () => {
    receiver = await OtlpReceiver.start()
  })

  afterEach(() => receiver.stop())

  async function open(sampledPart: number): Promise<Tracing> {
    const settings = {
      endpoint: receiver.server.url,
      headers: { 'api-key': 'secret' },
      serviceName: 'shop',
      sampledPart,
    }
    const process = toProcessFields(['http'], '1.2.3')
    const tracing = await openTracing(settings, { log: createLogger('silent'), process })
    if (!tracing) throw new Error('tracing is off')
    return tracing
  }

  it('sends spans with the name of the service, its version and the headers of the settings', async () => {
    const tracing = await open(1)
    tracing.begin('http.request', { 'url.path': '/', missing: null }).end()
    await tracing.close()
    const [call] = receiver.server.calls
    expect({ url: call?.url, key: call?.headers['api-key'] }).to.deep.equal({ url: '/v1/traces', key: 'secret' })
    const [span] = receiver.spans
    expect(span?.resource).to.include({ 'service.name': 'shop', 'service.version': '1.2.3', 'parley.role': 'http' })
    expect(span?.attributes).to.deep.equal({ 'url.path': '/' })
  })

  it('samples the configured part of the traces', async () => {
    const tracing = await open(0.25)
    const sampled = Array.from({ length: 4000 }, () => tracing.begin('work')).filter(({ isSampled }) => isSampled)
    expect(sampled.length).to.be.within(800, 1200)
    await tracing.close()
  })

  it('continues at most ten traces a second that callers demand', async () => {
    const tracing = await open(0)
    const spans = Array.from({ length: 1000 }, () => tracing.accept(CALLER, 'http.request'))
    expect(spans.filter(({ isSampled }) => isSampled).length).to.be.within(10, 20)
    await tracing.close()
  })

  it('exports spans that are not sampled if they fail, and not for what the caller can act on', async () => {
    const tracing = await open(0)
    const fail = (name: string, error: Error) => withSpan(tracing, name, {}, () => Promise.reject(error)).catch(() => 0)
    await fail('outage', new UnavailableError('a message', 1))
    await fail('refusal', new NotFoundError('Contact'))
    await fail('bug', new TypeError('a message'))
    await withSpan(tracing, 'success', {}, () => Promise.resolve())
    await tracing.close()
    const failed = receiver.spans.map(({ name, hasFailed, attributes }) => [name, hasFailed, attributes['error.type']])
    expect(failed).to.deep.equal([
      ['outage', true, 'unavailable'],
      ['bug', true, 'TypeError'],
    ])
    expect(JSON.stringify(receiver.server.calls)).not.to.include('a message')
  })

  it('keeps a bounded number of spans for a receiver that does not answer, and ends within a second', async () => {
    receiver.server.replyWith(neverReply)
    const tracing = await open(1)
    for (let count = 0; count < 3 * KEPT_MAX; count += 1) tracing.begin('work').end()
    const startedAt = performance.now()
    await tracing.close()
    expect(performance.now() - startedAt).to.be.lessThan(SECOND)
    expect(receiver.spans.length).to.be.within(1, KEPT_MAX)
  })

  it('is off without settings, when work has no span', async () => {
    const log = createLogger('silent')
    expect(await openTracing(undefined, { log, process: toProcessFields(['http'], '1.2.3') })).to.equal(undefined)
    expect(await withSpan(undefined, 'work', {}, (span) => Promise.resolve(span))).to.equal(undefined)
  })
})
