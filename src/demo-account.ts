import type { Database } from './platform/database/database.ts'
import type { ResolvedDatabase } from './platform/database/resolve-database.ts'
import { hashToken } from './platform/security/tokens.ts'

/** `apiKey` is null if it was revoked. */
export type DemoAccount = { email: string; password: string; workspaceId: string; apiKey: string | null }

/** The owner of the workspace with which an empty embedded database is filled. */
export const DEMO_ACCOUNT = {
  email: 'demo@parley.example',
  password: 'parley-demo',
  workspaceId: '0199c0de-0000-7000-8000-000000000002',
  apiKey: 'prl_DemoKeyOfTheWorkspaceCasaVerde3O4xxm',
}

/** Finds the account that may be shown to every client: never one of an external database. */
export async function findDemoAccount(
  db: Database,
  { isEmbedded }: Pick<ResolvedDatabase, 'isEmbedded'>,
): Promise<DemoAccount | undefined> {
  if (!isEmbedded) return undefined
  const { email, apiKey } = DEMO_ACCOUNT
  const user = await db('users').where({ email }).first('id')
  const key = await db('api_key_routes').where('secret_hash', hashToken(apiKey)).first('api_key_id')
  return user ? { ...DEMO_ACCOUNT, apiKey: key ? apiKey : null } : undefined
}
