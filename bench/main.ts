import { benchAnswer } from './answer.ts'
import { benchHttp } from './http.ts'

const BENCHES: Record<string, () => Promise<string[]>> = { http: benchHttp, answer: benchAnswer }

const [name = ''] = process.argv.slice(2)
const bench = BENCHES[name]
if (!bench) {
  process.stderr.write(`Say which: npm run bench -- ${Object.keys(BENCHES).join(' | ')}\n`)
  process.exit(1)
}
process.stdout.write(`${(await bench()).join('\n')}\n`)
process.exit(0)
