import { readdir } from 'node:fs/promises'
import type { Knex } from 'knex'

const SOURCE_FILE = /^(?<name>\d{14}_[a-z0-9_]+)\.(?:ts|js)$/

type MigrationFile = { name: string; url: URL }

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
      return name === undefined ? [] : [{ name, url: new URL(file, this.#folder) }]
    })
    const duplicate = migrations.find(({ name }, index) => migrations[index + 1]?.name === name)
    if (duplicate)
      throw new Error(`${this.#folder.pathname} has two files for migration ${duplicate.name}. Delete one.`)
    return migrations
  }

  getMigrationName({ name }: MigrationFile): string {
    return name
  }

  getMigration({ url }: MigrationFile): Promise<Knex.Migration> {
    return import(url.href)
  }
}
