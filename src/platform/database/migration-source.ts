import { readdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Knex } from 'knex'

const SOURCE_FILE = /^(?<name>\d{14}_[a-z0-9_]+)\.(?:ts|js)$/
const CODE_FILE = /(?<!\.d)\.[cm]?[tj]s$/

/** `knex migrate:status` prints the field `file`. */
type MigrationFile = { name: string; file: string; url: URL }

/**
 * Loads the migrations of a folder. They are recorded under their names without the file extension, so that a compiled
 * build and a run from source agree on what is applied.
 */
export class FolderMigrationSource implements Knex.MigrationSource<MigrationFile> {
  readonly #folder: URL

  constructor(folder: URL) {
    this.#folder = folder
  }

  async getMigrations(): Promise<MigrationFile[]> {
    const files = (await readdir(this.#folder)).sort()
    const migrations = files.flatMap((file) => {
      const name = SOURCE_FILE.exec(file)?.groups?.['name']
      if (name !== undefined) return [{ name, file: name, url: new URL(file, this.#folder) }]
      if (!CODE_FILE.test(file)) return []
      throw new Error(
        `${file} in ${fileURLToPath(this.#folder)} is not named like a migration. Rename it to 14 digits and words in lower case, such as 20260301000100_create_users.ts`,
      )
    })
    const duplicate = migrations.find(({ name }, index) => migrations[index + 1]?.name === name)
    if (duplicate)
      throw new Error(`${fileURLToPath(this.#folder)} has two files for migration ${duplicate.name}. Delete one.`)
    return migrations
  }

  getMigrationName({ name }: MigrationFile): string {
    return name
  }

  getMigration({ url }: MigrationFile): Promise<Knex.Migration> {
    return import(url.href)
  }
}
