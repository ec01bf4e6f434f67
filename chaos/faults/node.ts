import { type Inject, lastWithLoad, type NodeOutage } from './fault.ts'

/** Stops a worker node of Citus, whose workspaces cannot be served meanwhile, and starts it again. */
export const injectNodeOutage: Inject<NodeOutage> = async ({ database, load }, { index, durationMs }) => {
  const node = database.workerNodes[index % Math.max(1, database.workerNodes.length)]
  if (!node) return { skipReason: 'only a database on Citus has worker nodes' }
  await node.stop()
  try {
    await lastWithLoad(load, durationMs)
  } finally {
    await node.start()
  }
  return { server: node.name }
}
