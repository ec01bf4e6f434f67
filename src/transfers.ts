import { exportRecipients } from './features/broadcasts/report/export-recipients.ts'
import { exportRejects, exportResults } from './features/jobs/export-items.ts'
import type { DownloadRoute } from './http/download-routes.ts'

/** Answers of many lines, which are no procedures. */
export const DOWNLOADS: readonly DownloadRoute[] = [
  {
    path: '/api/broadcasts/{broadcastId}/recipients.csv',
    scope: 'broadcasts:read',
    open: async (scope, { params, query }) => ({
      type: 'text/csv',
      filename: 'recipients.csv',
      lines: await exportRecipients(scope, {
        broadcastId: params['broadcastId'] ?? '',
        status: query.get('status'),
      }),
    }),
  },
  {
    path: '/api/jobs/{jobId}/results',
    scope: 'jobs:read',
    open: async (scope, { params }) => ({
      type: 'application/x-ndjson',
      filename: 'results.ndjson',
      lines: await exportResults(scope, { jobId: params['jobId'] ?? '' }),
    }),
  },
  {
    path: '/api/jobs/{jobId}/rejects.csv',
    scope: 'jobs:read',
    open: async (scope, { params }) => ({
      type: 'text/csv',
      filename: 'rejects.csv',
      lines: await exportRejects(scope, { jobId: params['jobId'] ?? '' }),
    }),
  },
]
