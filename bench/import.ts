import { setTimeout as delay } from 'node:timers/promises'
import { measureCpuCost, readMemoryMb } from './cpu-cost.ts'
import { toEnvironment, withTempDatabase } from './database.ts'
import { COST_COLUMNS, formatCostRow, formatLoadAverage, formatTable } from './format.ts'
import { BenchClient } from './http-client.ts'
import { type ServerProcess, startServer } from './server-process.ts'

type Job = { id: string; status: string; counts: { created: number } }

const SAMPLE_MS = 50

/** Measures imports of CSV files with new contacts, from the request to the end of the job, and the memory of the process. */
export async function benchImport(options: Partial<{ large: number }> = {}): Promise<string[]> {
  const { large } = { large: 100_000, ...options }
  return withTempDatabase(async (database) => {
    const initialLoad = formatLoadAverage()
    const server = await startServer('./parley-server.ts', toEnvironment(database))
    const client = new BenchClient(server.url, 4)
    await client.signUp()
    // The first one compiles what all of them use.
    await runImport(client, server, { rows: 1000, from: 0 })
    const rows: string[][] = []
    let from = 1000
    // The second large one shows whether memory grows with what was imported.
    for (const size of [large / 10, large, large]) {
      let samples: number[] = []
      const initialMb = readMemoryMb(server.pid)
      const { pid } = server
      const processes = { pids: [pid], postmasterPid: database.postmasterPid, count: size }
      const cost = await measureCpuCost(processes, async () => {
        samples = await runImport(client, server, { rows: size, from })
      })
      from += size
      const memory = [initialMb, Math.max(...samples)].map((mb) => mb.toFixed(0))
      rows.push([...formatCostRow(`${size} rows`, [cost]), ...memory])
    }
    await server.stop()
    return [
      'import of new contacts by one process; a row has a name, a phone number, a tag and a custom field',
      ...formatTable([['', ...COST_COLUMNS, 'memory MB before', 'highest'], ...rows]),
      `${initialLoad} before, ${formatLoadAverage()} after`,
    ]
  })
}

/** Imports new contacts. Returns samples of the memory of the server. */
async function runImport(
  client: BenchClient,
  { url, pid }: ServerProcess,
  { rows, from }: { rows: number; from: number },
): Promise<number[]> {
  const lines = Array.from(
    { length: rows },
    (_, index) => `Contact ${from + index},+49151${String(from + index).padStart(8, '0')},tag ${index % 20},Recife\n`,
  )
  const response = await fetch(`${url}/api/contacts/import`, {
    method: 'POST',
    headers: { cookie: client.cookie, 'x-tenant-id': client.tenantId, 'content-type': 'text/csv' },
    body: `name,phone,tags,fields.city\n${lines.join('')}`,
  })
  const { id } = (await response.json()) as Job
  const samples: number[] = []
  for (;;) {
    samples.push(readMemoryMb(pid))
    const { status, counts } = await client.getJson<Job>(`/api/jobs/${id}`)
    if (status === 'completed' && counts.created === rows) return samples
    if (status !== 'queued' && status !== 'running') throw new Error(`The import of ${rows} rows is ${status}`)
    await delay(SAMPLE_MS)
  }
}
