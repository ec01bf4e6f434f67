import { type Disk, type Inject, lastWithLoad } from './fault.ts'

/** Fills the disk. A server that stops because it cannot write its log is started when there is space again. */
export const injectDisk: Inject<Disk> = async ({ database, load }, { durationMs }) => {
  const { disk } = database
  if (typeof disk === 'string') return { skipReason: disk }
  disk.fill()
  try {
    await lastWithLoad(load, durationMs)
  } finally {
    disk.free()
  }
  await database.ensureRunning()
  return {}
}
