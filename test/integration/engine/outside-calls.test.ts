import { expect } from 'chai'
import type { Work } from '../../../src/platform/jobs/job-queue.ts'
import { claimCalls, enqueueDueCalls, LEASE_MS } from '../../../src/features/external-calls/call-queue.ts'
import { executeCalls, completeCall } from '../../../src/features/external-calls/execute-calls.ts'
import { executeHttp } from '../../../src/features/external-calls/execute-http.ts'
import { advanceMailboxes } from '../../../src/features/execution/engine-port.ts'
import { fireDueTimers } from '../../../src/features/automation/fire-due-timers.ts'
import { SECOND, systemClock } from '../../../src/platform/time.ts'
import { buildWorkflow, buildWorkspace, sendAsCustomer } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { type ParleyProcess, startParleyProcess } from '../../support/parley-process.ts'
import { CITUS_URL } from '../../support/postgres.ts'
import { json, ScriptedServer, neverReply } from '../../support/scripted-server.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'
import { say } from '../../support/steps.ts'

/** A workspace with a published workflow that makes an HTTP call for every message. */
class HttpWorkflow {
  readonly workspace: WorkspaceClient

  constructor(workspace: WorkspaceClient) {
    this.workspace = workspace
  }

  static async publish(
    app: TestApp,
    server: ScriptedServer,
    call: object,
    after: object[] = [],
  ): Promise<HttpWorkflow> {
    const workspace = await buildWorkspace(app)
    await buildWorkflow(workspace, {
      variables: { base: { type: 'string', default: server.url }, quote: { type: 'object' } },
      steps: [{ id: 'call', type: 'http', url: '{{vars.base}}/quote', saveAs: 'vars.quote', ...call }, ...after],
    })
    return new HttpWorkflow(workspace)
  }

  async receive(body = 'hello'): Promise<void> {
    await sendAsCustomer(this.workspace, { body })
  }

  /** Returns the only run of the workspace with its steps. */
  async run() {
    const { items } = await this.workspace.call('GET', '/api/runs')
    expect(items).to.have.length(1)
    const { steps } = await this.workspace.call('GET', `/api/runs/${items[0].id}/steps`)
    return { ...items[0], steps }
  }

  async cancel(runId: string): Promise<void> {
    await this.workspace.call('POST', `/api/runs/${runId}/cancel`)
  }

  async sent(): Promise<string[]> {
    const { app, tenantId } = this.workspace
    return app.system.db('messages').where({ tenant_id: tenantId, direction: 'outbound' }).orderBy('id').pluck('body')
  }

  async countCalls(): Promise<number> {
    const { app, tenantId } = this.workspace
    return (await app.system.db('external_calls').where({ tenant_id: tenantId })).length
  }
}

describe('http step', () => {
  let app: TestApp
  let server: ScriptedServer

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' })
    server = await ScriptedServer.start()
  })

  after(async () => {
    await server.stop()
    await app.stop()
  })

  it('stores the response in a variable and records request and response without secrets', async () => {
    server.replyWith(json({ total: 1200, token: 'from-outside' }))
    const call = {
      method: 'POST',
      headers: { Authorization: 'Bearer {{message.body}}' },
      json: { said: '{{message.body}}' },
    }
    const caller = await HttpWorkflow.publish(app, server, call, [say('tell', 'It is {{vars.quote.json.total}}')])
    await caller.receive('how much?')
    await app.work()
    const run = await caller.run()
    expect(run.status).to.equal('completed')
    expect(await caller.sent()).to.deep.equal(['It is 1200'])
    expect(server.calls).to.have.length(1)
    const [{ method, url, headers, body } = expect.fail('nothing was called')] = server.calls
    expect([method, url, JSON.parse(body)]).to.deep.equal(['POST', '/quote', { said: 'how much?' }])
    expect(headers).to.include({ authorization: 'Bearer how much?', 'idempotency-key': `${run.id}:0` })
    const [step] = run.steps
    expect(step).to.include({ type: 'http', status: 'completed', attempt: 1 })
    expect(step.input).to.deep.include({ method: 'POST', url: `${server.url}/quote`, json: { said: 'how much?' } })
    expect(step.input.headers.authorization).to.equal('[redacted]')
    expect(step.output).to.deep.include({ status: 200, json: { total: 1200, token: '[redacted]' }, text: null })
    expect(await caller.countCalls()).to.equal(0)
  })

  it('retries with backoff and the same idempotency key until the call succeeds', async () => {
    server.replyWith(json({}, 503), json({}, 429), json({ total: 7 }))
    const retry = { max: 3, backoff: 'exponential', delay: '10s' }
    const caller = await HttpWorkflow.publish(app, server, { retry })
    await caller.receive()
    await app.work()
    expect((await caller.run()).steps[0]).to.include({ status: 'waiting', attempt: 1 })
    app.clock.advance(9 * SECOND)
    await app.work()
    expect(server.calls).to.have.length(1)
    app.clock.advance(SECOND)
    await app.work()
    app.clock.advance(20 * SECOND)
    await app.work()
    const run = await caller.run()
    expect([run.status, run.steps.length]).to.deep.equal(['completed', 1])
    expect(run.steps[0]).to.include({ status: 'completed', attempt: 3 })
    expect(server.calls.map(({ headers }) => headers['idempotency-key'])).to.deep.equal(Array(3).fill(`${run.id}:0`))
  })

  it('continues at the onError step when the call fails', async () => {
    server.replyWith(json({ error: 'no' }, 404))
    const caller = await HttpWorkflow.publish(app, server, { onError: 'sorry', next: 'tell' }, [
      say('tell', 'Found', { next: 'end' }),
      say('sorry', 'Not found: {{steps.call.output.error.code}}'),
    ])
    await caller.receive()
    await app.work()
    const run = await caller.run()
    expect([run.status, run.steps[0].status]).to.deep.equal(['completed', 'failed'])
    expect(run.steps[0].error.message).to.contain('404')
    expect(await caller.sent()).to.deep.equal(['Not found: http_status'])
  })

  it('completes with any response status when failOn is network', async () => {
    server.replyWith(json({ error: 'no' }, 500))
    const caller = await HttpWorkflow.publish(app, server, { failOn: 'network' }, [
      say('tell', '{{vars.quote.status}}'),
    ])
    await caller.receive()
    await app.work()
    expect(await caller.sent()).to.deep.equal(['500'])
  })

  it('fails with timed_out when no response arrives in time', async () => {
    server.replyWith(neverReply)
    const caller = await HttpWorkflow.publish(app, server, { timeout: '1s' })
    await caller.receive()
    await app.work()
    const run = await caller.run()
    expect([run.status, run.error.code]).to.deep.equal(['failed', 'timed_out'])
  })

  it('returns invalid JSON as text, removes characters that cannot be stored and fails on excessive nesting', async () => {
    server.replyWith((_, response) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end('<h1>a\u0000b</h1>'),
    )
    const caller = await HttpWorkflow.publish(app, server, {}, [say('tell', '{{vars.quote.text}}')])
    await caller.receive()
    await app.work()
    expect(await caller.sent()).to.deep.equal(['<h1>ab</h1>'])
    server.replyWith((_, response) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end('["\\ud800\\u0000", {"a\\u0000": 1}]'),
    )
    const odd = await HttpWorkflow.publish(app, server, {})
    await odd.receive()
    await app.work()
    expect((await odd.run()).steps[0].output.json).to.deep.equal(['\ufffd', { a: 1 }])
    server.replyWith((_, response) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end('['.repeat(50_000) + ']'.repeat(50_000)),
    )
    const deep = await HttpWorkflow.publish(app, server, {})
    await deep.receive()
    await app.work()
    expect((await deep.run()).error.code).to.equal('invalid_response')
  })

  it('fails with host_refused and without a retry on a redirect to a private network', async () => {
    server.replyWith((_, response) => response.writeHead(302, { location: 'http://169.254.169.254/latest' }).end())
    const caller = await HttpWorkflow.publish(app, server, { retry: { max: 5 } })
    await caller.receive()
    await app.work()
    const run = await caller.run()
    expect([run.status, run.error.code, run.steps[0].attempt]).to.deep.equal(['failed', 'host_refused', 1])
  })

  it('is rejected by validation with host_refused when its URL has a private address', async () => {
    const workspace = await buildWorkspace(app)
    const definition = { version: 1, steps: [{ id: 'call', type: 'http', url: 'http://192.168.0.1/{{contact.id}}' }] }
    const { errors } = await workspace.call('POST', '/api/workflows/validate', { definition })
    expect(errors.map(({ code, path }: { code: string; path: string }) => [code, path])).to.deep.equal([
      ['host_refused', 'steps.0.url'],
    ])
  })
})

describe('external call', () => {
  let app: TestApp
  let server: ScriptedServer

  before(async () => {
    // The app runs no worker; the test does each piece of work itself.
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true', ROLES: 'http' })
    server = await ScriptedServer.start()
  })

  after(async () => {
    await server.stop()
    await app.stop()
  })

  const advance = ({ workspace }: HttpWorkflow) => advanceMailboxes(app.system, { tenantId: workspace.tenantId })
  const executeDueCalls = ({ workspace }: HttpWorkflow) => executeCalls(app.system, { tenantId: workspace.tenantId })
  const countJobs = async ({ workspace }: HttpWorkflow) =>
    (await app.listWaitingJobs()).filter((job) => job === `execute:${workspace.tenantId}`).length
  const claim = ({ workspace }: HttpWorkflow) => claimCalls(app.system.forTenant(workspace.tenantId), 20)

  async function createPendingCall(call: object = {}, after: object[] = [say('tell', '{{vars.quote.json.total}}')]) {
    const caller = await HttpWorkflow.publish(app, server, call, after)
    await caller.receive()
    await advance(caller)
    expect(await caller.countCalls()).to.equal(1)
    return caller
  }

  it('is repeated with the same idempotency key when the worker dies after the request, and the run continues once', async () => {
    server.replyWith(json({ total: 1 }), json({ total: 2 }))
    const caller = await createPendingCall()
    const scope = app.system.forTenant(caller.workspace.tenantId)
    const [claimed = expect.fail('nothing to claim')] = await claim(caller)
    const lost = await executeHttp(scope, claimed, new AbortController().signal)
    await executeDueCalls(caller)
    expect(server.calls, 'while the call is leased').to.have.length(1)

    app.clock.advance(LEASE_MS)
    await executeDueCalls(caller)
    await advance(caller)
    expect(server.calls.map(({ headers }) => headers['idempotency-key'])).to.deep.equal(
      Array(2).fill(`${claimed.runId}:0`),
    )
    expect(await caller.sent()).to.deep.equal(['2'])

    // The first worker was only suspended and reports its result late.
    expect(await completeCall(scope, claimed, lost)).to.equal(false)
    await advance(caller)
    expect([(await caller.run()).status, await caller.sent()]).to.deep.equal(['completed', ['2']])
  })

  it('accepts only the result of the latest claim', async () => {
    server.replyWith(json({ total: 1 }))
    const caller = await createPendingCall()
    const scope = app.system.forTenant(caller.workspace.tenantId)
    const [first = expect.fail('nothing to claim')] = await claim(caller)
    app.clock.advance(LEASE_MS)
    const [second = expect.fail('nothing to claim')] = await claim(caller)
    const result = { ok: true, output: { status: 200, headers: {}, json: { total: 9 }, text: null } } as const
    expect(await completeCall(scope, first, result)).to.equal(false)
    expect(await completeCall(scope, second, result)).to.equal(true)
    expect(await completeCall(scope, second, result)).to.equal(false)
    await advance(caller)
    expect(await caller.sent()).to.deep.equal(['9'])
  })

  it('is claimed once when several workers claim at the same time', async () => {
    const caller = await createPendingCall()
    const claims = await Promise.all(Array.from({ length: 5 }, () => claim(caller)))
    expect(claims.flat()).to.have.length(1)
  })

  it('is not made a second time while time passes in the sandbox, which ends the time of its step', async () => {
    const caller = await createPendingCall({ timeout: '10m', onTimeout: 'late' }, [say('late', 'too late')])
    expect(await claim(caller)).to.have.length(1)
    const { conversationId } = await caller.run()
    await caller.workspace.call('POST', `/api/sandbox/conversations/${conversationId}/advance`, { seconds: 3600 })
    expect(await claim(caller)).to.have.length(0)
    await fireDueTimers(app.system)
    await advance(caller)
    expect([(await caller.run()).status, await caller.sent()]).to.deep.equal(['completed', ['too late']])
  })

  it('gets a new job after its lease expires', async () => {
    const caller = await createPendingCall()
    await claim(caller)
    await app.removeWaitingJobs()
    await enqueueDueCalls(app.system)
    expect(await countJobs(caller), 'while it is leased').to.equal(0)
    app.clock.advance(LEASE_MS)
    await enqueueDueCalls(app.system)
    expect(await countJobs(caller)).to.equal(1)
  })

  it('fails with outcome_unknown when two claims expire', async () => {
    server.replyWith(json({ total: 1 }))
    const caller = await createPendingCall()
    for (let death = 0; death < 2; death += 1) {
      expect(await claim(caller)).to.have.length(1)
      app.clock.advance(LEASE_MS)
    }
    await executeDueCalls(caller)
    await advance(caller)
    expect(server.calls).to.have.length(0)
    expect((await caller.run()).error.code).to.equal('outcome_unknown')
  })

  it('is not made when its run was canceled', async () => {
    server.replyWith(json({ total: 1 }))
    const caller = await createPendingCall()
    const { id } = await caller.run()
    await caller.cancel(id)
    expect(await caller.countCalls()).to.equal(0)
    await executeDueCalls(caller)
    expect(server.calls).to.have.length(0)
  })

  it('has no effect when its run is canceled during the request', async () => {
    server.replyWith(json({ total: 1 }))
    const caller = await createPendingCall()
    const [claimed = expect.fail('nothing to claim')] = await claim(caller)
    const { id } = await caller.run()
    await caller.cancel(id)
    const scope = app.system.forTenant(caller.workspace.tenantId)
    expect(await completeCall(scope, claimed, { ok: true, output: null })).to.equal(false)
    await advance(caller)
    expect((await caller.run()).status).to.equal('canceled')
  })

  it('has no effect when its run is canceled with the parent run', async () => {
    const workspace = await buildWorkspace(app)
    const steps = [say('wait', 'One moment'), { id: 'call', type: 'http', url: server.url }]
    const { id: workflowId } = await buildWorkflow(workspace, { triggers: [], steps })
    await buildWorkflow(workspace, { steps: [{ id: 'sub', type: 'run_workflow', workflowId }] })
    const caller = new HttpWorkflow(workspace)
    await caller.receive()
    await advance(caller)
    const [claimed = expect.fail('nothing to claim')] = await claim(caller)
    const { items } = await workspace.call('GET', '/api/runs?status=waiting')
    const outer = items.find(({ parentRunId }: { parentRunId: string | null }) => parentRunId === null)
    await caller.cancel(outer.id)
    expect(await caller.countCalls()).to.equal(0)
    const complete = () => expect.fail('something was changed')
    const scope = app.system.forTenant(caller.workspace.tenantId)
    expect(await completeCall(scope, claimed, { complete })).to.equal(false)
    const messages = await app.system
      .db('messages')
      .where({ tenant_id: caller.workspace.tenantId, direction: 'outbound' })
    expect(messages.map(({ status }) => status)).to.deep.equal(['canceled'])
  })

  it('is not made when its step has timed out', async () => {
    server.replyWith(json({ total: 1 }))
    const caller = await createPendingCall({ timeout: '30s', onTimeout: 'late' }, [
      say('tell', 'Too early', { next: 'end' }),
      say('late', 'Late'),
    ])
    app.clock.advance(30 * SECOND)
    await fireDueTimers(app.system)
    await advance(caller)
    expect(await caller.sent()).to.deep.equal(['Late'])
    await executeDueCalls(caller)
    expect(server.calls).to.have.length(0)
    expect(await caller.countCalls()).to.equal(0)
  })

  it('is made once although its result cannot be stored at first, as the database is not available', async function () {
    // Distributed tables have no triggers.
    if (CITUS_URL !== undefined) this.skip()
    server.replyWith(json({ total: 1 }))
    const caller = await createPendingCall()
    await app.system.db.raw(`
      create sequence failed_deletes;
      create function fail_delete() returns trigger language plpgsql as
        $$ begin if nextval('failed_deletes') < 3 then raise 'away' using errcode = '57P01'; end if; return old; end $$;
      create trigger fail_delete before delete on external_calls for each row execute function fail_delete()`)
    try {
      await executeDueCalls(caller)
    } finally {
      await app.system.db.raw('drop function fail_delete cascade; drop sequence failed_deletes')
    }
    expect(await caller.countCalls()).to.equal(0)
    await advance(caller)
    expect(await caller.sent()).to.deep.equal(['1'])
  })

  it('is followed by a job for those that its workspace had no places for', async () => {
    const caller = await createPendingCall()
    await app.removeWaitingJobs()
    const spread = async (claimWorks: (limit: number) => Promise<Work[]>) => {
      for (const work of await claimWorks(1)) await work()
      return true
    }
    await executeCalls(app.system, caller.workspace, { spread })
    expect([await caller.countCalls(), await countJobs(caller)]).to.deep.equal([0, 1])
  })

  it('is not made by a process that stops', async () => {
    const caller = await createPendingCall()
    await executeCalls(app.system, caller.workspace, { signal: AbortSignal.abort() })
    expect(await claim(caller)).to.have.length(1)
  })
})

describe('worker killed during an external call', function () {
  this.timeout(180_000)
  let app: TestApp
  let server: ScriptedServer
  let worker: ParleyProcess | undefined

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true', ROLES: 'http' }, systemClock)
    server = await ScriptedServer.start()
  })

  after(async () => {
    await worker?.kill()
    await server.stop()
    await app.stop()
  })

  it('leaves a call that the next worker repeats with the same idempotency key, and the run continues once', async () => {
    const environment = { DATABASE_URL: app.databaseUrl, ROLES: 'worker', ALLOW_LOOPBACK_CHANNELS: 'true' }
    server.replyWith(neverReply, json({ total: 5 }))
    const caller = await HttpWorkflow.publish(app, server, {}, [say('tell', '{{vars.quote.json.total}}')])
    worker = await startParleyProcess(environment)
    await caller.receive()
    await waitUntil(() => server.calls.length === 1)
    await worker.kill()
    expect(await caller.countCalls()).to.equal(1)

    // Ends the lease early instead of waiting for it to expire.
    await app.system.db('external_calls').update({ due_at: app.system.now() })
    worker = await startParleyProcess(environment)
    await waitUntil(async () => (await caller.sent()).length > 0)
    await waitUntil(async () => (await caller.run()).status === 'completed')
    expect(await caller.sent()).to.deep.equal(['5'])
    const { id } = await caller.run()
    expect(server.calls.map(({ headers }) => headers['idempotency-key'])).to.deep.equal(Array(2).fill(`${id}:0`))
    expect(await caller.countCalls()).to.equal(0)
  })
})
