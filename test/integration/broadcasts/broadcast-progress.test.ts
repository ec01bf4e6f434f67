import { expect } from 'chai'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import type { BroadcastChange } from '../../../src/features/live/follow-broadcast.ts'
import { systemClock } from '../../../src/platform/time.ts'
import { buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { buildBroadcastChannel, listPhones } from '../../support/broadcasts.ts'
import { openEventStream } from '../../support/event-stream.ts'

describe('progress of a broadcast', () => {
  let app: TestApp
  let cloud: FakeCloudApi

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' }, systemClock)
    cloud = await FakeCloudApi.start()
  })

  after(async () => {
    await app.stop()
    await cloud.stop()
  })

  it('is followed with counts that only grow and the rate, until it is completed', async () => {
    const owner = await buildWorkspace(app)
    const { templateId } = await buildBroadcastChannel(owner, cloud, { body: 'Hello', broadcastsPerSecond: 60 })
    const audience = { recipients: listPhones(150).map((phone) => ({ phone })) }
    const { id } = await owner.call('POST', '/api/broadcasts', { name: 'Sale', templateId, audience })
    const stream = await openEventStream<BroadcastChange>(app.url, owner, {
      procedure: 'broadcasts.follow',
      input: { broadcastId: id },
    })
    await owner.call('POST', `/api/broadcasts/${id}/send`, {})
    const changes: Extract<BroadcastChange, { type: 'broadcast' }>[] = []
    while (changes.at(-1)?.broadcast.status !== 'completed') {
      const { data } = await stream.next()
      if (data.type === 'broadcast') changes.push(data)
    }
    stream.close()
    const accepted = changes.map(({ broadcast }) => broadcast.counts.accepted)
    expect(accepted).to.deep.equal(accepted.toSorted((a, b) => a - b))
    expect(accepted.at(-1)).to.equal(150)
    expect(changes.some(({ rate }) => rate > 0)).to.equal(true)
  })
})
