import { TRPCClientError } from '@trpc/client'
import { expect } from 'chai'
import { z } from 'zod'
import { listOperations, listProcedures } from '../../src/http/rest.ts'
import { type AppRouter, appRouter } from '../../src/router.ts'
import { buildWorkspace } from '../factories.ts'
import { startTestApp, type TestApp, type TestSession } from '../support/app.ts'
import { createResources, type Ids, INPUTS, SESSION_ONLY, WITHOUT_TENANT } from '../support/procedure-inputs.ts'
import type { WorkspaceClient } from '../support/workspace-client.ts'

const MALFORMED_ID = 'no-uuid'
const UNKNOWN_ID = '0199c0de-ffff-7000-8000-000000000000'

const EMPTY_PAGE = { items: [], total: 0 }

const NO_RUNS = {
  error:
    'The filter finds 0 runs, and expectedCount is 1. Look at them with GET /api/runs, and change the filter or expectedCount',
  code: 'count_differs',
  docUrl: '/docs/errors#count_differs',
  details: { count: 0 },
}

/** Procedures whose IDs are filters, with their response to the ID of another tenant. */
const FILTERING: Record<string, object> = {
  'contacts.list': EMPTY_PAGE,
  'conversations.list': EMPTY_PAGE,
  'runs.list': EMPTY_PAGE,
  'templates.list': EMPTY_PAGE,
  'deadLetters.list': EMPTY_PAGE,
  'auditEvents.list': EMPTY_PAGE,
  'deadLetters.retryMany': { retried: 0, remaining: 0 },
  'workflows.bulkStartRuns contactIds': {
    results: [{ index: 0, status: 'failed', id: null, error: { code: 'not_found', message: 'Contact not found' } }],
    counts: { started: 0, failed: 1 },
  },
  'runs.bulkReplay': NO_RUNS,
  'runs.bulkCancel': NO_RUNS,
}

/** Content of a message, by the field that holds an ID. It replaces the other content of the input. */
const CONTENTS: Record<string, Record<string, unknown>> = {
  'choice.messageId': { choice: { optionId: 'one' } },
  'reaction.messageId': { reaction: { emoji: '👍' } },
  'template.templateId': { template: {} },
  'media.mediaId': { media: { type: 'document' } },
  'sticker.mediaId': { sticker: {} },
}

type Leaf = { path: string[]; isList: boolean }

/** Lists the fields of an input schema that hold an ID, recognized by their names. */
function listIdLeaves(schema: unknown, path: string[] = []): Leaf[] {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault)
    return listIdLeaves(schema.unwrap(), path)
  if (schema instanceof z.ZodObject)
    return Object.entries(schema.shape).flatMap(([name, field]) => listIdLeaves(field, [...path, name]))
  const name = path.at(-1) ?? ''
  const isId =
    /^id$|Id$|^replayOf$/.test(name) && !/^(?:externalId|phoneNumberId|wabaId|lastEventId|optionId)$/.test(name)
  return isId || name.endsWith('Ids') ? [{ path, isList: name.endsWith('Ids') }] : []
}

function withId(input: Record<string, unknown>, { path, isList }: Leaf, id: string): Record<string, unknown> {
  const [name = '', ...rest] = path
  if (rest.length === 0) return { ...input, [name]: isList ? [id] : id }
  return { ...input, [name]: withId(input[name] as Record<string, unknown>, { path: rest, isList }, id) }
}

describe('tenant isolation', () => {
  let app: TestApp
  let one: WorkspaceClient
  let two: WorkspaceClient
  let ownIds: Ids
  let foreignIds: Ids
  const procedures = listProcedures(appRouter)

  before(async () => {
    app = await startTestApp()
    one = await buildWorkspace(app)
    two = await buildWorkspace(app)
    ownIds = await createResources(one)
    foreignIds = await createResources(two)
  })

  after(() => app.stop())

  it('covers every procedure of the API', () => {
    expect([...Object.keys(INPUTS), ...WITHOUT_TENANT, ...Object.keys(SESSION_ONLY)]).to.have.members([
      ...procedures.keys(),
    ])
  })

  for (const [path, procedure] of [...procedures].filter(([name]) => INPUTS[name])) {
    const leaves = listIdLeaves(procedure._def.inputs[0])

    for (const leaf of leaves) {
      it(`${path} treats the ${leaf.path.join('.')} of another tenant and a malformed one like an unknown ID`, async () => {
        const complete = INPUTS[path]?.(ownIds) ?? {}
        const content = CONTENTS[leaf.path.join('.')]
        const { body: _body, replyToId: _replyToId, ...withoutContent } = complete
        const input = (id: string) => withId(content ? { ...withoutContent, ...content } : complete, leaf, id)
        const field = leaf.path.at(-1) ?? ''
        const foreignId = foreignIdFor(foreignIds, path, field)
        const digest = await computeDigest(app, two.tenantId)
        for (const call of [callTrpc, callRest]) {
          if (call === callRest && procedure._def.type === 'subscription') continue
          const outcome = await call(app, one, path, input(foreignId))
          const unknown = await call(app, one, path, input(UNKNOWN_ID))
          expect(outcome, call.name).to.deep.equal(unknown)
          expect(await call(app, one, path, input(MALFORMED_ID)), call.name).to.deep.equal(unknown)
          const expected = FILTERING[path] ?? FILTERING[`${path} ${leaf.path.join('.')}`]
          expect(outcome.status, `${call.name}: ${JSON.stringify(outcome.body)}`).to.be.oneOf(
            // It names the workspace itself, as the header does.
            expected ? [200, 202, 409] : [field === 'organizationId' ? 403 : 404],
          )
          if (expected) expect(outcome.body).to.deep.equal(expected)
        }
        expect(await computeDigest(app, two.tenantId)).to.equal(digest)
      })
    }

    it(`${path} rejects non-members with 403 and requests without a workspace with 401`, async () => {
      const nonMember = { ...one, tenantId: two.tenantId }
      const withoutWorkspace = { ...one, tenantId: '' }
      const input = INPUTS[path]?.(foreignIds) ?? {}
      expect((await callTrpc(app, nonMember, path, input)).status).to.equal(403)
      expect((await callTrpc(app, withoutWorkspace, path, input)).status).to.equal(401)
      if (procedure._def.type === 'subscription') return
      expect(await callRest(app, nonMember, path, input)).to.deep.equal({ status: 403, body: { error: 'Forbidden' } })
      expect(await callRest(app, withoutWorkspace, path, input)).to.deep.equal({
        status: 401,
        body: { error: 'Unauthorized' },
      })
    })
  }

  for (const [path, input] of Object.entries(SESSION_ONLY)) {
    it(`${path} rejects requests without a session with 401, and changes nothing in a workspace that they name`, async () => {
      const nobody = { ...one, cookie: '' }
      expect((await callTrpc(app, nobody, path, input)).status).to.equal(401)
      expect(await callRest(app, nobody, path, input)).to.deep.equal({ status: 401, body: { error: 'Unauthorized' } })
      const digest = await computeDigest(app, two.tenantId)
      for (const tenantId of ['', MALFORMED_ID, two.tenantId]) {
        const { status } = await callRest(app, { ...one, tenantId }, path, input)
        expect(status, tenantId).to.not.be.oneOf([401, 403])
      }
      expect(await computeDigest(app, two.tenantId)).to.equal(digest)
    })
  }
})

function foreignIdFor(foreignIds: Ids, path: string, field: string): string {
  const names: Record<string, keyof Ids> = {
    actorId: 'user',
    assigneeId: 'user',
    memberId: 'user',
    organizationId: 'workspace',
    targetId: 'contact',
    replayOf: 'run',
    replyToId: 'message',
    channelIds: 'channel',
    contactIds: 'contact',
    groupIds: 'group',
    tagIds: 'tag',
    recipientIds: 'contact',
    notAcceptedRecipientIds: 'contact',
  }
  const noun = names[field] ?? field.replace(/Id$/, '')
  const id = foreignIds[noun as keyof Ids]
  if (!id) throw new Error(`no foreign id for ${field} of ${path}`)
  return id
}

type Outcome = { status: number; body: unknown }

async function callTrpc(app: TestApp, session: TestSession, path: string, input: unknown): Promise<Outcome> {
  const [namespace = '', name = ''] = path.split('.')
  const type = listProcedures(appRouter).get(path)?._def.type
  // A subscription is rejected before it starts, so a plain query gets the same response.
  if (type === 'subscription') {
    const query = encodeURIComponent(JSON.stringify({ json: input }))
    const answer = await app.rest('GET', `/api/trpc/${path}?input=${query}`, { session })
    const text = typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body)
    const status = Number(/"httpStatus":(\d+)/.exec(text)?.[1] ?? answer.status)
    return { status, body: /"error":"([^"]+)"/.exec(text)?.[1] }
  }
  const client = app.client(session) as unknown as Record<
    string,
    Record<string, Record<string, (input: unknown) => Promise<unknown>>>
  >
  try {
    return { status: 200, body: await client[namespace]?.[name]?.[type === 'query' ? 'query' : 'mutate']?.(input) }
  } catch (error) {
    const { data } = error as TRPCClientError<AppRouter>
    const { error: message, code, docUrl, details } = (data ?? {}) as Record<string, unknown>
    return { status: data?.httpStatus ?? 0, body: { error: message, code, docUrl, details } }
  }
}

async function callRest(
  app: TestApp,
  session: TestSession,
  path: string,
  input: Record<string, unknown>,
): Promise<Outcome> {
  const operation = listOperations(appRouter).find(({ procedurePath }) => procedurePath === path)
  if (!operation) throw new Error(`${path} has no REST path`)
  const inPath = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? '')
  const url = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => String(input[name]))
  const rest = Object.entries(input).filter(([name]) => !inPath.includes(name))
  const isBodiless = operation.method === 'GET' || operation.method === 'DELETE'
  const query =
    isBodiless && rest.length > 0
      ? `?${new URLSearchParams(rest.map(([name, value]): [string, string] => [name, String(value)]))}`
      : ''
  const { status, body } = await app.rest(operation.method, url + query, {
    session,
    ...(isBodiless ? {} : { body: Object.fromEntries(rest) }),
  })
  return { status, body }
}

/** Computes a digest of all data of a tenant, which calls by other tenants must not change. */
async function computeDigest(app: TestApp, tenantId: string): Promise<string> {
  const tables = [
    'contacts',
    'consent_entries',
    'conversations',
    'messages',
    'workflows',
    'runs',
    'channels',
    'groups',
    'group_contacts',
    'tags',
    'contact_tags',
    'tools',
    'ai_providers',
    'http_credentials',
    'templates',
    'broadcasts',
    'workflow_tests',
    'dead_letters',
  ]
  const parts = await Promise.all(
    tables.map(async (table) => {
      const { rows } = await app.system.db.raw<{ rows: { digest: string | null }[] }>(
        `select md5(string_agg(t::text, '|' order by t::text)) as digest from ${table} t where tenant_id = ?`,
        [tenantId],
      )
      return rows[0]?.digest
    }),
  )
  // Not the times and tokens of emails, which a worker sends meanwhile.
  const people = await Promise.all([
    app.system.db('memberships').where('workspace_id', tenantId).select('user_id', 'role').orderBy('user_id'),
    app.system.db('invitations').where('workspace_id', tenantId).select('id', 'email', 'role', 'status').orderBy('id'),
  ])
  return [...parts, JSON.stringify(people)].join()
}
