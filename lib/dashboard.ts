// nestjs-redis-rate-limit/dashboard
export { RateLimitDashboardModule } from './dashboard/rate-limit-dashboard.module.js';
export type { DashboardAction, RateLimitDashboardOptions } from './dashboard/dashboard.options.js';
