BEGIN TRANSACTION;
CREATE TABLE access_controls (
	id UUID NOT NULL, 
	subject_type VARCHAR NOT NULL, 
	subject_id UUID, 
	object_type VARCHAR NOT NULL, 
	object_id UUID, 
	effect VARCHAR NOT NULL, 
	created_at DATETIME, 
	PRIMARY KEY (id)
);
INSERT INTO "access_controls" VALUES('925810beb3794015a60932b528876f24','app','5b46dd637fb04413b4eda2d25edebcc8','memory','2f725511fe9741a1ba8858f204ec7fa4','allow','2026-11-28 10:42:30.955451');
CREATE TABLE apps (
	id UUID NOT NULL, 
	owner_id UUID NOT NULL, 
	name VARCHAR NOT NULL, 
	description VARCHAR, 
	metadata JSON, 
	is_active BOOLEAN, 
	created_at DATETIME, 
	updated_at DATETIME, 
	PRIMARY KEY (id), 
	CONSTRAINT idx_app_owner_name UNIQUE (owner_id, name), 
	FOREIGN KEY(owner_id) REFERENCES users (id)
);
INSERT INTO "apps" VALUES('5b46dd637fb04413b4eda2d25edebcc8','049173c8c4a94cd5afe97e69f2aa7a90','cursor','editor','{}',1,'2026-11-28 10:42:30.388190','2026-11-28 10:42:30.388201');
INSERT INTO "apps" VALUES('87f2148ff3d24d6185483a9527510c02','049173c8c4a94cd5afe97e69f2aa7a90','openmemory',NULL,'{}',1,'2026-11-28 10:42:30.388212','2026-11-28 10:42:30.388213');
CREATE TABLE archive_policies (
	id UUID NOT NULL, 
	criteria_type VARCHAR NOT NULL, 
	criteria_id UUID, 
	days_to_archive INTEGER NOT NULL, 
	created_at DATETIME, 
	PRIMARY KEY (id)
);
CREATE TABLE categories (
	id UUID NOT NULL, 
	name VARCHAR NOT NULL, 
	description VARCHAR, 
	created_at DATETIME, 
	updated_at DATETIME, 
	PRIMARY KEY (id)
);
INSERT INTO "categories" VALUES('730c7e2736984f5696341d9e75b2039d','Personal','Automatically created category for Personal','2026-11-28 10:42:14.649582','2026-11-28 10:42:30.484705');
INSERT INTO "categories" VALUES('eed23b1c7c5d4819b9daf46465095806','Home','Automatically created category for Home','2026-11-28 10:42:14.649582','2026-11-28 10:42:30.505377');
INSERT INTO "categories" VALUES('e6f5d1b0ea144471acecfc322ac4a2f1','Hobbies','Automatically created category for Hobbies','2026-11-28 10:42:14.649582','2026-11-28 10:42:30.588894');
CREATE TABLE configs (
	id UUID NOT NULL, 
	"key" VARCHAR NOT NULL, 
	value JSON NOT NULL, 
	created_at DATETIME, 
	updated_at DATETIME, 
	PRIMARY KEY (id)
);
CREATE TABLE memories (
	id UUID NOT NULL, 
	user_id UUID NOT NULL, 
	app_id UUID NOT NULL, 
	content VARCHAR NOT NULL, 
	vector VARCHAR, 
	metadata JSON, 
	state VARCHAR(8), 
	created_at DATETIME, 
	updated_at DATETIME, 
	archived_at DATETIME, 
	deleted_at DATETIME, 
	PRIMARY KEY (id), 
	FOREIGN KEY(user_id) REFERENCES users (id), 
	FOREIGN KEY(app_id) REFERENCES apps (id)
);
INSERT INTO "memories" VALUES('2f725511fe9741a1ba8858f204ec7fa4','049173c8c4a94cd5afe97e69f2aa7a90','5b46dd637fb04413b4eda2d25edebcc8','Lives in Braga',NULL,'{"note": "said on a call"}','active','2026-11-28 10:42:30.430239','2026-11-28 10:42:30.430255',NULL,NULL);
INSERT INTO "memories" VALUES('2194b0c7bf5c4edb8a1348ef1f7967b9','049173c8c4a94cd5afe97e69f2aa7a90','87f2148ff3d24d6185483a9527510c02','I own a canoe',NULL,'null','active','2026-11-28 10:42:30.580393','2026-11-28 10:42:30.580406',NULL,NULL);
INSERT INTO "memories" VALUES('48295b0e300746938982534919b95501','049173c8c4a94cd5afe97e69f2aa7a90','5b46dd637fb04413b4eda2d25edebcc8','Works at Loom',NULL,'{}','archived','2026-11-28 10:42:30.652019','2026-11-28 10:42:30.784798','2026-11-28 10:42:30.782169',NULL);
INSERT INTO "memories" VALUES('b9af63db4f504d2cb86fddf8dc6fd0f8','049173c8c4a94cd5afe97e69f2aa7a90','5b46dd637fb04413b4eda2d25edebcc8','Likes rain',NULL,'{}','paused','2026-11-28 10:42:30.695292','2026-11-28 10:42:30.836179',NULL,NULL);
INSERT INTO "memories" VALUES('6ce3fefff9624bd6984386ea5a059723','049173c8c4a94cd5afe97e69f2aa7a90','87f2148ff3d24d6185483a9527510c02','Wrong fact',NULL,'{}','deleted','2026-11-28 10:42:30.735883','2026-11-28 10:42:30.903322',NULL,'2026-11-28 10:42:30.887019');
CREATE TABLE memory_access_logs (
	id UUID NOT NULL, 
	memory_id UUID NOT NULL, 
	app_id UUID NOT NULL, 
	accessed_at DATETIME, 
	access_type VARCHAR NOT NULL, 
	metadata JSON, 
	PRIMARY KEY (id), 
	FOREIGN KEY(memory_id) REFERENCES memories (id), 
	FOREIGN KEY(app_id) REFERENCES apps (id)
);
CREATE TABLE memory_categories (
	memory_id UUID NOT NULL, 
	category_id UUID NOT NULL, 
	PRIMARY KEY (memory_id, category_id), 
	FOREIGN KEY(memory_id) REFERENCES memories (id), 
	FOREIGN KEY(category_id) REFERENCES categories (id)
);
INSERT INTO "memory_categories" VALUES('2f725511fe9741a1ba8858f204ec7fa4','730c7e2736984f5696341d9e75b2039d');
INSERT INTO "memory_categories" VALUES('2f725511fe9741a1ba8858f204ec7fa4','eed23b1c7c5d4819b9daf46465095806');
INSERT INTO "memory_categories" VALUES('2194b0c7bf5c4edb8a1348ef1f7967b9','e6f5d1b0ea144471acecfc322ac4a2f1');
CREATE TABLE memory_status_history (
	id UUID NOT NULL, 
	memory_id UUID NOT NULL, 
	changed_by UUID NOT NULL, 
	old_state VARCHAR(8) NOT NULL, 
	new_state VARCHAR(8) NOT NULL, 
	changed_at DATETIME, 
	PRIMARY KEY (id), 
	FOREIGN KEY(memory_id) REFERENCES memories (id), 
	FOREIGN KEY(changed_by) REFERENCES users (id)
);
INSERT INTO "memory_status_history" VALUES('88a9e1585a614732a9c7b81c7aab60a7','48295b0e300746938982534919b95501','049173c8c4a94cd5afe97e69f2aa7a90','active','archived','2026-11-28 10:42:30.792107');
INSERT INTO "memory_status_history" VALUES('3963b74521c24801957c20f794ab6bae','b9af63db4f504d2cb86fddf8dc6fd0f8','049173c8c4a94cd5afe97e69f2aa7a90','active','paused','2026-11-28 10:42:30.837434');
INSERT INTO "memory_status_history" VALUES('b9c4ad7dfe754c08965f14159b645514','6ce3fefff9624bd6984386ea5a059723','049173c8c4a94cd5afe97e69f2aa7a90','active','deleted','2026-11-28 10:42:30.904692');
CREATE TABLE users (
	id UUID NOT NULL, 
	user_id VARCHAR NOT NULL, 
	name VARCHAR, 
	email VARCHAR, 
	metadata JSON, 
	created_at DATETIME, 
	updated_at DATETIME, 
	PRIMARY KEY (id)
);
INSERT INTO "users" VALUES('049173c8c4a94cd5afe97e69f2aa7a90','mira','Mira Okafor','mira@example.org','{}','2026-11-28 10:42:30.337051','2026-11-28 10:42:30.337066');
CREATE UNIQUE INDEX ix_users_user_id ON users (user_id);
CREATE INDEX ix_users_name ON users (name);
CREATE UNIQUE INDEX ix_users_email ON users (email);
CREATE INDEX ix_users_created_at ON users (created_at);
CREATE UNIQUE INDEX ix_configs_key ON configs ("key");
CREATE UNIQUE INDEX ix_categories_name ON categories (name);
CREATE INDEX ix_categories_created_at ON categories (created_at);
CREATE INDEX ix_access_controls_subject_id ON access_controls (subject_id);
CREATE INDEX ix_access_controls_subject_type ON access_controls (subject_type);
CREATE INDEX ix_access_controls_object_id ON access_controls (object_id);
CREATE INDEX ix_access_controls_effect ON access_controls (effect);
CREATE INDEX idx_access_subject ON access_controls (subject_type, subject_id);
CREATE INDEX ix_access_controls_created_at ON access_controls (created_at);
CREATE INDEX idx_access_object ON access_controls (object_type, object_id);
CREATE INDEX ix_access_controls_object_type ON access_controls (object_type);
CREATE INDEX idx_policy_criteria ON archive_policies (criteria_type, criteria_id);
CREATE INDEX ix_archive_policies_criteria_type ON archive_policies (criteria_type);
CREATE INDEX ix_archive_policies_criteria_id ON archive_policies (criteria_id);
CREATE INDEX ix_archive_policies_created_at ON archive_policies (created_at);
CREATE INDEX ix_apps_created_at ON apps (created_at);
CREATE INDEX ix_apps_name ON apps (name);
CREATE INDEX ix_apps_owner_id ON apps (owner_id);
CREATE INDEX ix_apps_is_active ON apps (is_active);
CREATE INDEX ix_memories_user_id ON memories (user_id);
CREATE INDEX idx_memory_user_state ON memories (user_id, state);
CREATE INDEX idx_memory_app_state ON memories (app_id, state);
CREATE INDEX ix_memories_app_id ON memories (app_id);
CREATE INDEX ix_memories_state ON memories (state);
CREATE INDEX ix_memories_archived_at ON memories (archived_at);
CREATE INDEX ix_memories_deleted_at ON memories (deleted_at);
CREATE INDEX ix_memories_created_at ON memories (created_at);
CREATE INDEX idx_memory_user_app ON memories (user_id, app_id);
CREATE INDEX idx_memory_category ON memory_categories (memory_id, category_id);
CREATE INDEX ix_memory_categories_category_id ON memory_categories (category_id);
CREATE INDEX ix_memory_categories_memory_id ON memory_categories (memory_id);
CREATE INDEX ix_memory_status_history_memory_id ON memory_status_history (memory_id);
CREATE INDEX idx_history_memory_state ON memory_status_history (memory_id, new_state);
CREATE INDEX ix_memory_status_history_new_state ON memory_status_history (new_state);
CREATE INDEX ix_memory_status_history_old_state ON memory_status_history (old_state);
CREATE INDEX ix_memory_status_history_changed_by ON memory_status_history (changed_by);
CREATE INDEX idx_history_user_time ON memory_status_history (changed_by, changed_at);
CREATE INDEX ix_memory_status_history_changed_at ON memory_status_history (changed_at);
CREATE INDEX idx_access_memory_time ON memory_access_logs (memory_id, accessed_at);
CREATE INDEX ix_memory_access_logs_memory_id ON memory_access_logs (memory_id);
CREATE INDEX ix_memory_access_logs_access_type ON memory_access_logs (access_type);
CREATE INDEX ix_memory_access_logs_app_id ON memory_access_logs (app_id);
CREATE INDEX idx_access_app_time ON memory_access_logs (app_id, accessed_at);
CREATE INDEX ix_memory_access_logs_accessed_at ON memory_access_logs (accessed_at);
COMMIT;