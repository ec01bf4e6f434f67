import { DEMO_ACCOUNT } from '../../src/demo-account.ts'

const KINDS = {
  base: '0000',
  contact: '0001',
  tag: '0002',
  group: '0003',
  workflow: '0004',
  conversation: '0005',
  broadcast: '0008',
  template: '0009',
} as const

/** The fixed ID of the nth demo row of a kind. */
export function demoId(kind: keyof typeof KINDS, n: number): string {
  return `0199c0de-${KINDS[kind]}-7000-8000-${String(n).padStart(12, '0')}`
}

export const DEMO = {
  workspaceId: DEMO_ACCOUNT.workspaceId,
  templateId: demoId('base', 4),
  apiKeyId: demoId('base', 5),
  email: DEMO_ACCOUNT.email,
  password: DEMO_ACCOUNT.password,
  apiKey: DEMO_ACCOUNT.apiKey,
}
