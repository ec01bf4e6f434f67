import { useNow } from './time.tsx'

/** Within this time in ms, an open window is about to close. */
export const SOON_MS = 2 * 60 * 60_000

/** Returns the time in ms in which free text can be sent to a customer; 0 if the window is closed, or was never open. */
export function useWindowLeft(windowExpiresAt: Date | null): number {
  const now = useNow()
  return Math.max(0, (windowExpiresAt?.getTime() ?? 0) - now)
}
