import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { cloneDatabase } from '../../support/postgres.ts'

const PROGRAM = ['--import', 'tsx', 'test/support/inspect-connection.ts']

/** Inspects a connection for the work of the engine, of a process with this environment. */
async function inspectEngine(environment: Record<string, string>, ...args: string[]): Promise<unknown> {
  const { url, drop } = await cloneDatabase(() => Promise.resolve())
  const env = { ...process.env, DATABASE_URL: url, SECRET_KEY: 'ab'.repeat(32), ...environment }
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [...PROGRAM, ...args], { env })
    return JSON.parse(stdout)
  } finally {
    await drop()
  }
}

describe('prepared statements', () => {
  it('are kept by each connection under a name, with one plan for all values', async () => {
    expect(await inspectEngine({})).to.deep.equal({ prepared: 1, planning: 'force_generic_plan' })
  })

  it('are not used if the setting says so', async () => {
    const inspected = await inspectEngine({ DB_PREPARED_STATEMENTS: 'false' })
    expect(inspected).to.deep.equal({ prepared: 0, planning: 'auto' })
  })

  it('are not used through a pooler that gives each transaction another session', async () => {
    expect(await inspectEngine({}, 'pooled')).to.deep.equal({ prepared: 0, planning: 'auto' })
  })
})
