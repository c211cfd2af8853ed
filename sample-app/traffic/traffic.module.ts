import { Module } from '@nestjs/common';
import { Traffic } from './traffic.js';

@Module({ providers: [Traffic], exports: [Traffic] })
export class TrafficModule {}
