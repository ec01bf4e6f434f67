import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { ROOT } from '../../support/documents.ts'
import { Checkout } from '../../support/checkout.ts'

const TSCONFIG = 'tsconfig.created.json'

describe('knex migrate:make and seed:make', function () {
  this.timeout(240_000)
  let checkout: Checkout
  let migration: string
  const seed = 'seeds/sample.ts'

  async function knex(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await checkout.run('npx', ['knex', ...args])
    expect(code, stdout + stderr).to.equal(0)
    return stdout
  }

  before(async () => {
    checkout = new Checkout()
    await knex('migrate:make', 'add_sample')
    await knex('seed:make', 'sample')
    migration = `migrations/${readdirSync(join(checkout.path, 'migrations')).find((name) => name.endsWith('add_sample.ts')) ?? ''}`
  })

  after(() => checkout.remove())

  it('create TypeScript files that pass type check, lint and format', () => {
    expect(migration).to.match(/^migrations\/\d{14}_add_sample\.ts$/)
    const project = { extends: './tsconfig.json', include: [migration, seed] }
    writeFileSync(join(checkout.path, TSCONFIG), JSON.stringify(project))
    for (const [program = '', ...args] of [
      ['typescript/bin/tsc', '-p', TSCONFIG],
      ['oxlint/bin/oxlint', '--deny-warnings', migration, seed],
      ['prettier/bin/prettier.cjs', '--check', migration, seed],
    ]) {
      const { status, stdout, stderr } = spawnSync(process.execPath, [join(ROOT, 'node_modules', program), ...args], {
        cwd: checkout.path,
        encoding: 'utf8',
      })
      expect(status, `${program}: ${stdout}${stderr}`).to.equal(0)
    }
    expect(readFileSync(join(checkout.path, seed), 'utf8')).to.include('export async function seed(')
  })

  it('create files that migrate:latest, migrate:down and seed:run execute', async () => {
    expect(await knex('migrate:status'))
      .to.match(/Found \d+ Pending Migration[^]*add_sample/)
      .and.not.include('undefined')
    expect(await knex('migrate:latest')).to.include('Batch 1 run: ')
    expect(await knex('migrate:list'))
      .to.include('add_sample')
      .and.include('No Pending Migration')
    expect(await knex('seed:run')).to.include('Ran 3 seed files')
    expect(await knex('migrate:down')).to.include('add_sample')
  })
})
