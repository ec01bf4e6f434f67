import { expect } from 'chai'
import { type Procedure, listProcedures } from '../../../src/http/rest.ts'
import { appRouter } from '../../../src/router.ts'
import type { Role } from '../../../src/scope/dependencies.ts'
import { API_SCOPES } from '../../../src/trpc/api-scopes.ts'
import { buildWorkspace } from '../../factories.ts'
import { newAddress, startTestApp, type TestApp } from '../../support/app.ts'
import { createResources, type Ids, INPUTS, SESSION_ONLY, WITHOUT_TENANT } from '../../support/procedure-inputs.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const ROLES: Role[] = ['viewer', 'agent', 'admin', 'owner']

/** Procedures that no API key may call. */
const FOR_PEOPLE = [
  'members.leave',
  'members.update',
  'members.remove',
  'invitations.list',
  'invitations.create',
  'invitations.revoke',
  'auth.getFullOrganization',
  'auth.updateOrganization',
  'auth.listMembers',
  'auth.getActiveMember',
  'auth.updateMemberRole',
  'auth.removeMember',
  'auth.leaveOrganization',
  'auth.deleteOrganization',
  'workspace.delete',
  'auth.inviteMember',
  'auth.listInvitations',
  'auth.cancelInvitation',
]

const procedures = [...listProcedures(appRouter)].filter(
  ([name]) => !WITHOUT_TENANT.includes(name) && !SESSION_ONLY[name],
)

describe('access of members by their role and of API keys by their scopes', () => {
  let app: TestApp
  let workspace: WorkspaceClient
  let ids: Ids
  const members = new Map<Role, Record<string, string>>()

  before(async () => {
    app = await startTestApp()
    workspace = await buildWorkspace(app)
    ids = await createResources(workspace)
    for (const role of ['viewer', 'agent', 'admin'] as const) {
      const { cookie } = await app.join(workspace.tenantId, role)
      members.set(role, { cookie, 'x-tenant-id': workspace.tenantId })
    }
  })
  after(() => app.stop())

  /** Calls a procedure over tRPC. Returns its status; a subscription that is open is ended, and 200. */
  async function call(path: string, procedure: Procedure, access: Record<string, string>): Promise<Response> {
    const json = JSON.stringify({ json: INPUTS[path]?.(ids) ?? {} })
    const headers = { 'x-forwarded-for': newAddress(), ...access }
    const isMutation = procedure._def.type === 'mutation'
    const response = isMutation
      ? await fetch(`${app.url}/api/trpc/${path}`, {
          method: 'POST',
          headers: { ...headers, 'content-type': 'application/json' },
          body: json,
        })
      : await fetch(`${app.url}/api/trpc/${path}?input=${encodeURIComponent(json)}`, { headers })
    if (procedure._def.type !== 'subscription') {
      await response.arrayBuffer()
      return response
    }
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    while (!/event: serialized-error[^]*\n\n|^data: [^]*\n\n/m.test(text))
      text += (await reader?.read())?.value ?? '\n\n'
    await reader?.cancel()
    const status = Number(/"httpStatus":(\d+)/.exec(text)?.[1] ?? 200)
    return new Response(null, { status, headers: response.headers })
  }

  async function createKey(scopes: readonly string[]): Promise<{ id: string; headers: Record<string, string> }> {
    const { id, key } = await workspace.call('POST', '/api/api-keys', { name: 'Matrix', scopes })
    return { id, headers: { authorization: `Bearer ${key}` } }
  }

  it('is declared for every procedure of a workspace, and every scope is that of a procedure', () => {
    const withoutRole = procedures.filter(([, { _def }]) => !_def.meta?.role)
    expect(withoutRole.map(([name]) => name)).to.deep.equal([])
    const withoutScope = procedures.filter(([, { _def }]) => !_def.meta?.scope)
    expect(withoutScope.map(([name]) => name)).to.have.members(FOR_PEOPLE)
    const ofUploads = 'media:write'
    const scopes = procedures.flatMap(([, { _def }]) => _def.meta?.scope ?? [])
    expect(new Set([...scopes, ofUploads])).to.have.keys([...API_SCOPES])
  })

  for (const [path, procedure] of procedures) {
    const { role = 'owner', scope } = procedure._def.meta ?? {}
    const lowerRoles = ROLES.slice(0, ROLES.indexOf(role))

    it(`${path} refuses roles below ${role} and API keys without ${scope ?? 'exception'}, and no others`, async () => {
      const lacking = await createKey(scope ? API_SCOPES.filter((name) => name !== scope) : ['full'])
      const refused = await call(path, procedure, lacking.headers)
      expect(refused.status, 'key without the scope').to.equal(403)
      if (procedure._def.type !== 'subscription') {
        const reason = scope ? `scope="${scope}"` : 'error_description="API keys cannot do this, only members"'
        expect(refused.headers.get('www-authenticate')).to.equal(`Bearer error="insufficient_scope", ${reason}`)
      }
      for (const [member, headers] of members) {
        const isRefused = lowerRoles.includes(member)
        // What the others may do here depends on whom it concerns, and ends their membership.
        if (!isRefused && FOR_PEOPLE.includes(path)) continue
        const { status } = await call(path, procedure, headers)
        if (isRefused) expect(status, member).to.equal(403)
        else expect(status, member).to.not.be.oneOf([401, 403])
      }
      if (!scope) return
      const having = await createKey([scope])
      const { status } = await call(path, procedure, having.headers)
      // Keys give and change no rights that they do not have, and are sent nothing that they may not read.
      const givesRights = /^(?:apiKeys\.(?:create|update|rotate|delete)|webhookEndpoints\.(?:create|update))$/
      if (givesRights.test(path)) expect(status).to.equal(403)
      else expect(status, 'key with the scope').to.not.be.oneOf([401, 403])
      await app.system.db('api_keys').whereIn('id', [lacking.id, having.id]).delete()
    })
  }
})
