import { expect } from 'chai'
import { startTestApp, type TestApp, type TestSession } from '../../support/app.ts'
import { FakeCloudApi } from '../../support/fake-cloud-api.ts'

const AT_ONCE = 100

describe('webhooks that come at once', () => {
  let app: TestApp
  let owner: TestSession
  let cloud: FakeCloudApi

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true', ROLES: 'http' })
    owner = await app.signUp()
  })

  after(() => app.stop())

  beforeEach(async () => {
    cloud = await FakeCloudApi.start({ clock: app.clock })
    const { body } = await app.rest('POST', '/api/channels', {
      session: owner,
      body: { kind: 'whatsapp', name: 'Support', ...cloud.settings, ...cloud.credentials },
    })
    cloud.webhooks.callbackUrl = app.url + body.webhookPath
  })

  afterEach(() => cloud.stop())

  /** What was stored of messages that begin so, and in how many transactions. */
  async function stored(prefix: string): Promise<{ bodies: string[]; transactions: number }> {
    const { rows } = await app.system.db.raw<{ rows: { bodies: string[] | null; transactions: number }[] }>(
      `select array_agg(body order by id) as bodies, count(distinct xmin::text)::int as transactions
       from messages where body like ?`,
      [`${prefix}%`],
    )
    return { bodies: rows[0]?.bodies ?? [], transactions: rows[0]?.transactions ?? 0 }
  }

  const numbered = (prefix: string, count = AT_ONCE) => Array.from({ length: count }, (_, n) => `${prefix} ${n}`)
  const phoneOf = (n: number) => `155520${String(n).padStart(5, '0')}`

  it('are each stored once before they are acknowledged, in few transactions', async () => {
    const bodies = numbered('together')
    const met = await Promise.all(bodies.map((body, n) => cloud.webhooks.receiveText({ from: phoneOf(n), body })))
    const after = await stored('together')
    expect(met.map(({ status }) => status)).to.deep.equal(Array(AT_ONCE).fill(200))
    expect(after.bodies).to.have.members(bodies)
    expect(after.bodies).to.have.length(AT_ONCE)
    expect(after.transactions).to.be.at.most(AT_ONCE / 4)
  })

  it('fail alone: one that cannot be stored costs none of those it came with', async () => {
    await app.system.db.raw(
      `create function refuse_poison() returns trigger language plpgsql as
         $$ begin raise exception 'no room for %', new.body; end $$;
       create trigger refuse_poison before insert on messages for each row
         when (new.body like 'poison 5%') execute function refuse_poison()`,
    )
    const bodies = numbered('poison', 60)
    const met = await Promise.all(bodies.map((body, n) => cloud.webhooks.receiveText({ from: phoneOf(n), body })))
    await app.system.db.raw('drop function refuse_poison cascade')
    const isPoison = (body: string) => body.startsWith('poison 5')
    expect(met.map(({ status }) => status)).to.deep.equal(bodies.map((body) => (isPoison(body) ? 500 : 200)))
    expect((await stored('poison')).bodies).to.have.members(bodies.filter((body) => !isPoison(body)))
  })

  it('leave one message of one that was delivered in several of them', async () => {
    const bodies = numbered('again', 20)
    const calls = [...bodies, ...bodies, ...bodies]
    const met = await Promise.all(
      calls.map((body) => cloud.webhooks.receiveText({ from: phoneOf(1), body, wamid: `wamid.${body}` })),
    )
    expect(met.every(({ status }) => status === 200)).to.equal(true)
    expect((await stored('again')).bodies).to.have.members(bodies)
    expect((await stored('again')).bodies).to.have.length(bodies.length)
  })
})
