import type { Knex } from 'knex'
import { z } from 'zod'
import { addMs, DAY, systemClock } from '../platform/time.ts'
import { History } from './history.ts'
import { type Account, insertWorkspace } from './insert-workspace.ts'
import { insertScale, type Scale } from './insert-scale.ts'
import { toSeedId } from './seed-id.ts'
import { readOptions } from './seed-options.ts'
import { SeededWorkspace } from './seeded-workspace.ts'

/** Age of a new workspace. Nothing in it is older. */
const AGE_MS = 90 * DAY
const PASSWORD = 'parley-demo'

export type SeedOptions = {
  /** Identifies the workspace among those of all seeds, and determines its IDs. */
  key: string
  name: string
  /** By default an ID that the key determines. */
  id?: string
  timezone?: string
  language?: string
  country?: string
  /** By default `<key>@parley.example` with the password of the demo. An existing account is used as it is. */
  owner?: Partial<Account>
  /** Many rows, which are inserted before the seed acts. */
  scale?: Scale
  /** End of the history, by default now. */
  now?: Date
}

const text = z.string()

const SETTINGS = z.strictObject({
  key: text,
  name: text,
  id: text.optional(),
  timezone: text.optional(),
  language: text.optional(),
  country: text.optional(),
  owner: z.strictObject({ email: text, name: text, password: text }).partial().optional(),
  scale: z.strictObject({ contacts: z.int().min(0), conversations: z.int().min(0).optional() }).optional(),
  now: z.date().optional(),
} satisfies Record<keyof SeedOptions, z.ZodType>)

/**
 * Creates a workspace with an owner and a sandbox channel, and fills it. All of it is one transaction, an inner one if
 * `knex` is a transaction: a seed that throws leaves nothing. A workspace that exists stays as it is.
 * @throws Error if `knex` does not map the names of columns, as the one of `openDatabase` and of the knexfile does
 */
export async function seedWorkspace(
  knex: Knex,
  options: SeedOptions,
  fill: (workspace: SeededWorkspace) => Promise<unknown> = async () => {},
): Promise<{ id: string; isNew: boolean }> {
  readOptions('seedWorkspace', SETTINGS, options)
  const { key, name, owner = {}, scale, now = systemClock.now(), ...settings } = options
  const { id = toSeedId('workspace', key), ...columns } = settings
  return knex.transaction(async (tx) => {
    assertMapsNames(tx)
    if (await tx('workspaces').where({ id }).first('id')) return { id, isNew: false }
    const account = { email: `${key}@parley.example`, name: `${name} Owner`, password: PASSWORD, ...owner }
    const createdAt = addMs(now, -AGE_MS)
    const inserted = await insertWorkspace(tx, { id, name, ...columns, owner: account, createdAt })
    const history = new History(tx, { workspaceId: id, start: createdAt, end: now })
    if (scale) {
      // Foreign keys are checked by plans of the connection, which may be from when the tables were nearly empty.
      await tx.raw('discard plans')
      await history.act(AGE_MS, inserted.owner, (scope) => insertScale(scope, scale, now))
    }
    await fill(new SeededWorkspace(tx, { history, ...inserted }))
    return { id, isNew: true }
  })
}

function assertMapsNames(tx: Knex): void {
  if (tx.client.config.wrapIdentifier) return
  throw new Error('The seed needs a knex that maps the names of columns. Create it with openDatabase of parley/seed')
}
