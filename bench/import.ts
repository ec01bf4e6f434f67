import { setTimeout as delay } from 'node:timers/promises'
import { measureCpuCost, readMemoryMb } from './cpu-cost.ts'
import { toEnvironment, withTempDatabase } from './database.ts'
import { COST_COLUMNS, formatCostRow, formatLoadAverage, formatTable } from './format.ts'
import { BenchClient } from './http-client.ts'
import { type ServerProcess, startServer } from './server-process.ts'

type Job = { id: string; status: string; counts: { created: number } }
type Memory = { rssMb: number[]; liveHeapMb: number[] }

const SAMPLE_MS = 50

/** Parts of an import after which the garbage is collected, to read the heap that is in use. */
const PARTS = [0.1, 0.5, 0.9]
const HEAP_COLUMNS = PARTS.map((part) => `heap in use at ${part * 100} %`)

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
      let memory: Memory = { rssMb: [], liveHeapMb: [] }
      const initialMb = readMemoryMb(server.pid)
      const { pid } = server
      const processes = { pids: [pid], postmasterPid: database.postmasterPid, count: size }
      const cost = await measureCpuCost(processes, async () => {
        memory = await runImport(client, server, { rows: size, from })
      })
      from += size
      const figures = [initialMb, Math.max(...memory.rssMb), ...memory.liveHeapMb].map((mb) => mb.toFixed(0))
      rows.push([...formatCostRow(`${size} rows`, [cost]), ...figures])
    }
    await server.stop()
    return [
      'import of new contacts by one process; a row has a name, a phone number, a tag and a custom field',
      ...formatTable([['', ...COST_COLUMNS, 'memory MB before', 'highest', ...HEAP_COLUMNS], ...rows]),
      `${initialLoad} before, ${formatLoadAverage()} after`,
    ]
  })
}

/** Imports new contacts. Returns samples of the memory of the server, and its heap after each of the parts. */
async function runImport(
  client: BenchClient,
  { url, pid, readLiveHeapMb }: ServerProcess,
  { rows, from }: { rows: number; from: number },
): Promise<Memory> {
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
  const memory: Memory = { rssMb: [], liveHeapMb: [] }
  for (;;) {
    memory.rssMb.push(readMemoryMb(pid))
    const { status, counts } = await client.getJson<Job>(`/api/jobs/${id}`)
    while (counts.created >= (PARTS[memory.liveHeapMb.length] ?? Infinity) * rows)
      memory.liveHeapMb.push(await readLiveHeapMb())
    if (status === 'completed' && counts.created === rows) return memory
    if (status !== 'queued' && status !== 'running') throw new Error(`The import of ${rows} rows is ${status}`)
    await delay(SAMPLE_MS)
  }
}
