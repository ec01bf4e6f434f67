import type { Scope } from '../../src/scope/scope.ts'
import { buildContact, buildWorkspace } from '../factories.ts'
import type { TestApp } from './app.ts'
import { CITUS_URL } from './postgres.ts'
import { waitUntil } from './wait-until.ts'

/** A workspace whose transactions are observed by the name of a contact. */
export type Member = { scope: Scope; contactId: string }
export type TransactionWork = (tx: Scope, member: Member) => Promise<unknown>

/** Creates a member, on a distributed database one whose node the process knows. */
export async function createMember(app: TestApp): Promise<Member> {
  const workspace = await buildWorkspace(app)
  const { id: contactId } = await buildContact(workspace, { name: 'Before' })
  const scope = app.system.forTenant(workspace.tenantId)
  await waitUntil(async () => CITUS_URL === undefined || (await readPort(scope)) !== new URL(CITUS_URL).port)
  return { scope, contactId }
}

/** The port of the server that executes the statements of a workspace: the coordinator, until its node is known. */
export async function readPort(scope: Scope): Promise<string> {
  const [row] = await scope.sql<{ port: string }>('readPort')`select current_setting('port') as port where ${true}`
  return row?.port ?? ''
}

export async function readTransactionId(tx: Scope): Promise<string> {
  const [row] = await tx.sql<{ id: string }>('readTransactionId')`select pg_current_xact_id()::text as id`
  return row?.id ?? ''
}

/** Returns the work of renaming the contact of a member. */
export function rename(name: string): TransactionWork {
  return (tx, { contactId }) =>
    tx.sql('rename')`update contacts set name = ${name} where tenant_id = ${tx.tenantId} and id = ${contactId}`
}

export function readNames(members: Member[]): Promise<(string | undefined)[]> {
  return Promise.all(
    members.map(async ({ scope, contactId }) => {
      const [row] = await scope.sql<{ name: string }>('readName')`
        select name from contacts where tenant_id = ${scope.tenantId} and id = ${contactId}`
      return row?.name
    }),
  )
}
