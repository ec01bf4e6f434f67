export function advanceJob(tenantId: string) {
  return { task: 'advance', key: `advance:${tenantId}`, payload: { tenantId } }
}

export function deliverJob(tenantId: string, channelId: string) {
  return { task: 'deliver', key: `deliver:${tenantId}:${channelId}`, payload: { tenantId, channelId } }
}

export function executeJob(tenantId: string) {
  return { task: 'perform', key: `perform:${tenantId}`, payload: { tenantId } }
}
