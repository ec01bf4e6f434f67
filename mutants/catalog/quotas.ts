import type { Area } from '../mutant.ts'

const QUOTA = 'src/features/media/media-quota.ts'
const POSTPONE = 'src/features/media/postpone-media.ts'
const DISK = 'src/platform/files/disk-space.ts'
const RECEIVE = 'src/platform/files/receive-file.ts'
const LIMITS = 'src/platform/rate-limit/rate-limits.ts'
const WEBHOOK = 'src/features/inbound/handle-webhook.ts'
const SECRETS = 'src/platform/security/literal-secret.ts'

export const QUOTAS: Area = {
  name: 'quotas',
  tests: ['integration/api/media-quota.test.ts'],
  mutants: [
    {
      name: 'files that are received at once exceed the quota together',
      file: 'src/features/media/store-media.ts',
      original: '    await lockMediaQuota(tx)\n',
      mutated: '',
    },
    {
      name: 'the quota is checked before a file is received only',
      file: 'src/features/media/store-media.ts',
      original: '    await assertWithinQuota(tx)\n',
      mutated: '',
    },
    {
      name: 'a file beyond the quota stays in the store',
      file: 'src/features/media/store-media.ts',
      original: 'if (error instanceof MediaQuotaError) await discardWrite(scope, write)',
      mutated: '',
    },
    {
      name: 'small files count with their size only',
      file: QUOTA,
      original: 'sum(greatest(bytes, ${FILE_BYTES_MIN}::bigint))',
      mutated: 'sum(bytes)',
    },
    {
      name: 'a file that waits for room is given up like one that fails',
      file: POSTPONE,
      original: 'waitsForRoom ? (isAwaited ? ROOM_CHECKED_MS : undefined) :',
      mutated: '',
    },
    {
      name: 'files wait for room for ever',
      file: POSTPONE,
      original: "case when x.created_at < ${awaitedSince}::timestamptz then 'failed' else 'pending' end",
      mutated: "'pending'",
    },
    {
      name: 'a disk that reports no size is low',
      file: DISK,
      original: 'blocks > 0 && bavail * bsize < bytesMin',
      mutated: 'bavail * bsize < bytesMin',
      tests: ['unit/platform/disk-space.test.ts'],
    },
    {
      name: 'a low disk is logged for each file',
      file: DISK,
      original: 'if (isLow === this.#wasLow) return\n',
      mutated: '',
      tests: ['unit/platform/disk-space.test.ts'],
    },
    {
      name: 'the disk is looked at before a file is received only',
      file: RECEIVE,
      original: 'assertDiskFree(disk).then(() => done(null, chunk), done)',
      mutated: 'done(null, chunk)',
      tests: ['unit/platform/receive-file.test.ts'],
    },
    {
      name: 'the size that a sender announces is ignored',
      file: RECEIVE,
      original: 'if (announced > bytesMax)',
      mutated: 'if (announced > bytesMax + Infinity)',
      tests: ['unit/platform/receive-file.test.ts', 'integration/api/media-quota.test.ts'],
    },
    {
      name: 'a call that is retried loses its body',
      file: WEBHOOK,
      original: 'webhook: isInvalid ? webhook : { ...webhook, body },',
      mutated: 'webhook,',
      tests: ['integration/channels/webhook-quotas.test.ts'],
    },
    {
      name: 'a channel takes any number of bytes',
      file: WEBHOOK,
      original: '  await chargeChannel(limits, channel.id, body.length)\n',
      mutated: '',
      tests: ['integration/channels/webhook-quotas.test.ts'],
    },
    {
      name: 'a day may use the whole quota of webhook bodies',
      file: LIMITS,
      original: 'bytes: webhookBytes / KEPT_WINDOWS',
      mutated: 'bytes: webhookBytes',
      tests: ['integration/channels/webhook-quotas.test.ts'],
    },
    {
      name: 'a workspace may have one row more',
      file: 'src/features/counts/assert-row-limit.ts',
      original: '+ added <= max',
      mutated: '+ added <= max + 1',
      tests: ['integration/api/row-limits.test.ts'],
    },
    {
      name: 'tags of runs are limited',
      file: 'src/features/tags/ensure-tags.ts',
      original: 'if (findMemberId(tx.actor) !== null) await',
      mutated: 'await',
      tests: ['integration/api/row-limits.test.ts'],
    },
    {
      name: 'a draft is changed to one with a secret',
      file: 'src/features/workflows/changes.ts',
      original: '  assertNoLiteralSecrets(definition)\n',
      mutated: '',
      tests: ['integration/workflows/stored-secrets.test.ts'],
    },
    {
      name: 'invented values of tests are taken for secrets',
      file: SECRETS,
      original: '(isRandom(text) && isSensitiveName(name))',
      mutated: 'isSensitiveName(name)',
      tests: ['integration/workflows/stored-secrets.test.ts'],
    },
    {
      name: 'the zero of Italian numbers is removed',
      file: 'src/platform/phone.ts',
      original: 'KEEPS_ZERO.test(number) ? number :',
      mutated: '',
      tests: ['integration/api/phone-punctuation.test.ts'],
    },
  ],
}
