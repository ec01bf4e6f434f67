import { answerControlCall, applySettings } from './control.ts'
import { FakeCloudApi } from './fake-cloud-api.ts'
import { readArguments } from '../src/platform/process/read-command.ts'
import { parseOptions, USAGE } from './parse-options.ts'

const WEBHOOK_RETRIES = 6

const print = (line: string) => process.stdout.write(`${line}\n`)

function printTimed(line: string): void {
  print(`${new Date().toISOString().slice(11, 23)} ${line}`)
}

const { settings, ...identity } = readArguments(USAGE, parseOptions)
const api = await FakeCloudApi.start(identity).catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}. Choose another --port\n`)
  process.exit(1)
})
applySettings(api, settings)
api.control = (call) => answerControlCall(api, call)
api.onCall = (line) => printTimed(`received ${line}`)
api.webhooks.onDelivery = (line) => printTimed(`webhook ${line}`)
api.webhooks.retries = WEBHOOK_RETRIES
const channel = { type: 'whatsapp', name: 'Fake WhatsApp', ...api.settings, ...api.credentials }
print(`The fake Cloud API is listening on ${api.url}`)
print(`Connect Parley, started with ALLOW_LOOPBACK_CHANNELS=true: POST /api/channels ${JSON.stringify(channel)}`)
print(`Then set the webhook: POST ${api.url}/fake/settings {"webhook":"<address of Parley><webhookPath>"}`)
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(0))
