-- The tables of the first version, as SQLite dumps them, with a job that is half rendered.
BEGIN TRANSACTION;
CREATE TABLE attempts (
    id VARCHAR(40) NOT NULL,
    task VARCHAR(120) NOT NULL,
    job_id VARCHAR(40) NOT NULL,
    worker_id VARCHAR(120) NOT NULL,
    state VARCHAR(20) NOT NULL,
    started FLOAT NOT NULL,
    ended FLOAT,
    progress TEXT,
    result TEXT,
    failure TEXT,
    PRIMARY KEY (id),
    FOREIGN KEY(task) REFERENCES tasks ("key") ON DELETE CASCADE
);
CREATE TABLE blobs (
    sha256 VARCHAR(64) NOT NULL,
    bytes BIGINT NOT NULL,
    created FLOAT NOT NULL,
    PRIMARY KEY (sha256)
);
CREATE TABLE events (
    sequence INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    time FLOAT NOT NULL,
    job_id VARCHAR(40),
    kind VARCHAR(40) NOT NULL,
    data TEXT NOT NULL
);
CREATE TABLE frames (
    job_id VARCHAR(40) NOT NULL,
    frame INTEGER NOT NULL,
    state VARCHAR(20) NOT NULL,
    finishing INTEGER NOT NULL,
    render_class TEXT,
    seconds FLOAT,
    started FLOAT,
    ended FLOAT,
    error TEXT NOT NULL,
    PRIMARY KEY (job_id, frame),
    FOREIGN KEY(job_id) REFERENCES jobs (id) ON DELETE CASCADE
);
CREATE TABLE head (
    id INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    beat FLOAT NOT NULL,
    PRIMARY KEY (id)
);
CREATE TABLE intents (
    id INTEGER NOT NULL,
    job_id VARCHAR(40) NOT NULL,
    kind VARCHAR(20) NOT NULL,
    time FLOAT NOT NULL,
    PRIMARY KEY (id),
    FOREIGN KEY(job_id) REFERENCES jobs (id) ON DELETE CASCADE
);
CREATE TABLE jobs (
    id VARCHAR(40) NOT NULL,
    owner VARCHAR(40) NOT NULL,
    name TEXT NOT NULL,
    scene_id VARCHAR(64) NOT NULL,
    settings TEXT NOT NULL,
    state VARCHAR(20) NOT NULL,
    created FLOAT NOT NULL,
    started FLOAT,
    ended FLOAT,
    report TEXT,
    "plan" TEXT,
    opened INTEGER NOT NULL,
    error TEXT NOT NULL,
    cure TEXT NOT NULL,
    PRIMARY KEY (id),
    FOREIGN KEY(owner) REFERENCES users (id),
    FOREIGN KEY(scene_id) REFERENCES scenes (id)
);
CREATE TABLE outputs (
    id INTEGER NOT NULL,
    job_id VARCHAR(40) NOT NULL,
    frame INTEGER,
    tile INTEGER,
    attempt_id VARCHAR(40) NOT NULL,
    role VARCHAR(20) NOT NULL,
    name TEXT NOT NULL,
    "key" TEXT NOT NULL,
    bytes BIGINT NOT NULL,
    sha256 VARCHAR(64) NOT NULL,
    media_type TEXT NOT NULL,
    render_class TEXT,
    PRIMARY KEY (id),
    FOREIGN KEY(job_id) REFERENCES jobs (id) ON DELETE CASCADE
);
CREATE TABLE scenes (
    id VARCHAR(64) NOT NULL,
    manifest TEXT NOT NULL,
    created FLOAT NOT NULL,
    PRIMARY KEY (id)
);
CREATE TABLE tasks (
    "key" VARCHAR(120) NOT NULL,
    job_id VARCHAR(40) NOT NULL,
    frame INTEGER,
    tile INTEGER,
    state VARCHAR(20) NOT NULL,
    failures INTEGER NOT NULL,
    losses INTEGER NOT NULL,
    PRIMARY KEY ("key"),
    FOREIGN KEY(job_id) REFERENCES jobs (id) ON DELETE CASCADE
);
CREATE TABLE users (
    id VARCHAR(40) NOT NULL,
    name TEXT NOT NULL,
    created FLOAT NOT NULL,
    PRIMARY KEY (id)
);
CREATE TABLE workers (
    id VARCHAR(120) NOT NULL,
    info TEXT NOT NULL,
    state VARCHAR(20) NOT NULL,
    attempt_id VARCHAR(40),
    since FLOAT NOT NULL,
    PRIMARY KEY (id)
);
CREATE INDEX events_by_kind ON events (kind, time);
CREATE INDEX events_by_job ON events (job_id, sequence);
CREATE INDEX jobs_by_age ON jobs (created, id);
CREATE INDEX jobs_by_state ON jobs (state);
CREATE INDEX frames_by_state ON frames (job_id, state);
CREATE INDEX tasks_by_frame ON tasks (job_id, frame);
CREATE INDEX tasks_by_job ON tasks (job_id, state);
CREATE INDEX outputs_by_frame ON outputs (job_id, frame);
CREATE INDEX outputs_by_role ON outputs (job_id, role, tile, id);
CREATE INDEX outputs_by_attempt ON outputs (attempt_id);
CREATE INDEX attempts_by_task ON attempts (task);
CREATE INDEX attempts_by_job ON attempts (job_id, state);
INSERT INTO users VALUES ('local','local',1.0);
INSERT INTO scenes VALUES ('0ad6c2f7e8d68af742653f4a1e533fd603f60f2fefc5e7bf15c5c122cfc3029f','{"main":"a.blend","files":{"a.blend":{"sha256":"0000000000000000000000000000000000000000000000000000000000000000","bytes":1}}}',1.0);
INSERT INTO jobs VALUES ('j1','local','One','0ad6c2f7e8d68af742653f4a1e533fd603f60f2fefc5e7bf15c5c122cfc3029f','{"frames": "7", "tiles": "2x1", "samples": null, "scale": null, "scene": null, "camera": null, "device": "auto", "engine": "scene", "keep_exr": false}','rendering',2.0,3.0,NULL,'{"scene": "Scene", "scenes": ["Scene"], "camera": "Camera", "cameras": ["Camera"], "marker_cameras": {}, "frame_start": 1, "frame_end": 24, "frame_step": 1, "fps": 24.0, "full_width": 640, "full_height": 360, "percentage": 100, "engine": "CYCLES", "samples": 64, "adaptive": false, "denoise": false, "layers": [{"name": "ViewLayer", "passes": ["Combined"]}], "views": [], "file_format": "PNG", "movie": false, "output_name": "", "compositor": false, "file_output_nodes": 0, "sequencer": false, "blocks_cutting": [], "breaks_exactness": [], "findings": [], "file_version": "", "blender": "", "load_seconds": 0.0}','{"frames": "7", "width": 640, "height": 360, "grid": "2x1", "overlap": 0, "exact": true, "reason": "1 frame on 1 worker: each cut in 2 tiles (2x1), as asked", "revision": 0}',1,'','');
INSERT INTO frames VALUES ('j1',7,'running',0,'{"blender":"5.2.3 abc","device":"CPU","kernel":"avx2"}',NULL,4.0,NULL,'');
INSERT INTO tasks VALUES ('j1/7/tile-0','j1',7,0,'done',0,0);
INSERT INTO tasks VALUES ('j1/7/tile-1','j1',7,1,'waiting',1,0);
INSERT INTO attempts VALUES ('a1','j1/7/tile-0','j1','w1','done',4.0,5.0,NULL,'{"seconds":{"total":2.0}}',NULL);
INSERT INTO outputs VALUES (1,'j1',7,0,'a1','piece','.tessera/piece.exr','jobs/j1/frames/0007/tile-0000/a1/piece.exr',1,'1111111111111111111111111111111111111111111111111111111111111111','image/x-exr','{"blender":"5.2.3 abc","device":"CPU","kernel":"avx2"}');
INSERT INTO head VALUES (1,3,5.0);
COMMIT;
